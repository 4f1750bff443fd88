package openapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/content"
	problems "github.com/pb33f/libopenapi-validator/errors"
	"github.com/pb33f/libopenapi-validator/responses"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/pb33f/libopenapi/orderedmap"

	"github.com/hermesfake/hermesfake"
)

// document is an OpenAPI document that exchanges are compared with.
type document struct {
	source    libopenapi.Document
	model     *v3.Document
	validator validator.Validator
	schemas   schema_validation.SchemaValidator
	bodies    responses.ResponseBodyValidator
}

// served reads the document of a fake.
func served() ([]byte, error) {
	fake := hermesfake.New()
	defer fake.Close()
	res, err := fake.Client().Get(hermesfake.BaseURL + "/__admin/openapi.yaml")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// asText decodes bodies that are no JSON into a string.
var asText = content.DecoderFunc(func(in *content.DecodeInput) (any, error) {
	text, err := io.ReadAll(in.Body)
	return string(text), err
})

// load reads the document that a fake serves, once for all tests.
var load = sync.OnceValues(func() (*document, error) {
	text, err := served()
	if err != nil {
		return nil, err
	}
	source, err := libopenapi.NewDocument(text)
	if err != nil {
		return nil, err
	}
	model, err := source.BuildV3Model()
	if err != nil {
		return nil, err
	}
	options := []config.Option{
		config.WithFormatAssertions(), config.WithRejectUnsupportedBodyContent(), config.WithoutSecurityValidation(), config.WithStrictServerMatching(),
		config.WithBodyDecoder("text/plain", asText), config.WithBodyDecoder("text/html", asText),
		config.WithBodyDecoder("text/event-stream", asText), config.WithBodyDecoder("application/yaml", asText),
	}
	v := validator.NewValidatorFromV3Model(&model.Model, options...)
	return &document{source, &model.Model, v, schema_validation.NewSchemaValidator(options...), v.GetResponseBodyValidator()}, nil
})

func (d *document) checkItself() (bool, []*problems.ValidationError) {
	return schema_validation.ValidateOpenAPIDocument(d.source)
}

func explain(list []*problems.ValidationError) error {
	var all []error
	for _, p := range list {
		text := p.Message + ": " + p.Reason
		for _, f := range p.SchemaValidationErrors {
			text += fmt.Sprintf("\n  %s: %s (%s)", f.FieldPath, f.Reason, f.KeywordLocation)
		}
		all = append(all, errors.New(text))
	}
	return errors.Join(all...)
}

// exchange is a request and what it was answered.
type exchange struct {
	request  *http.Request
	sent     []byte
	response *http.Response
	received []byte
}

// with returns the request and the response with bodies to be read.
func (e *exchange) with() (*http.Request, *http.Response) {
	request := e.request.Clone(e.request.Context())
	request.Body = io.NopCloser(bytes.NewReader(e.sent))
	if len(e.sent) == 0 {
		request.Body = http.NoBody
	}
	request.ContentLength = int64(len(e.sent))
	if e.response == nil {
		return request, nil
	}
	response := *e.response
	response.Body = io.NopCloser(bytes.NewReader(e.received))
	return request, &response
}

// checkRequest compares the request. Bodies that are JSON for Python alone are left out.
func (d *document) checkRequest(e *exchange) error {
	var v any
	if len(e.sent) > 0 && json.Unmarshal(e.sent, &v) != nil {
		return nil
	}
	request, _ := e.with()
	for name, values := range request.Header {
		// The provider trims.
		if values[0] = strings.TrimSpace(values[0]); values[0] == "" {
			delete(request.Header, name)
		}
	}
	request.Header.Del("Content-Type")
	if len(e.sent) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if _, list := d.validator.ValidateHttpRequestSync(request); list != nil {
		return explain(list)
	}
	return nil
}

// checkResponse compares the response. The document has no place for what is not in it: unknown paths, other methods, and routes
// of the provider that are not served; those are compared with the responses that it names for them.
func (d *document) checkResponse(e *exchange) error {
	request, response := e.with()
	control := strings.HasPrefix(request.URL.Path, "/__admin")
	name := ""
	switch text := strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain"); {
	case response.StatusCode == 404 && text && !control:
		name = "UnknownPath"
	case response.StatusCode == 405 && !control:
		name = "WrongMethod"
	case response.StatusCode == 405:
		name = "WrongControlMethod"
	case response.StatusCode == 404 && bytes.Contains(e.received, []byte("no such control")):
		name = "UnknownControl"
	case response.StatusCode == 501 && d.unknown(request):
		name = "Unsupported"
	}
	if name != "" {
		return d.checkNamed(request, response, name)
	}
	if request.Method == http.MethodHead {
		return d.checkHead(e)
	}
	if strings.HasSuffix(request.URL.Path, "/events") && strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		if err := d.checkStream(e.received); err != nil {
			return err
		}
	}
	if _, list := d.validator.ValidateHttpResponse(request, response); list != nil {
		return explain(list)
	}
	return nil
}

func (d *document) unknown(request *http.Request) bool {
	return d.find(request) == nil
}

func (d *document) find(request *http.Request) *v3.PathItem {
	return d.model.Paths.PathItems.GetOrZero(d.pattern(request))
}

// pattern is the document's path that the request's is one of; "" if there is none.
func (d *document) pattern(request *http.Request) string {
	for path := range d.model.Paths.PathItems.FromOldest() {
		if matches(path, bare(request.URL.EscapedPath())) {
			return path
		}
	}
	return ""
}

// bare is a path without the prefixes of namespace and profile.
func bare(path string) string {
	for _, prefix := range []string{"/ns/", "/p/"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			_, rest, _ = strings.Cut(rest, "/")
			path = "/" + rest
		}
	}
	return path
}

// matches reports whether a path is one of the pattern.
func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (!strings.HasPrefix(want[i], "{") || got[i] == "") {
			return false
		}
	}
	return true
}

// checkNamed compares with a response among the document's components.
func (d *document) checkNamed(request *http.Request, response *http.Response, name string) error {
	found := d.model.Components.Responses.GetOrZero(name)
	if found == nil {
		return fmt.Errorf("the document has no response %s", name)
	}
	codes := orderedmap.New[string, *v3.Response]()
	codes.Set(fmt.Sprint(response.StatusCode), found)
	operation := &v3.Operation{Responses: &v3.Responses{Codes: codes}}
	asked := request.Clone(request.Context())
	asked.Method = http.MethodGet
	if _, list := d.bodies.ValidateResponseBodyWithPathItem(asked, response, &v3.PathItem{Get: operation}, request.URL.Path); list != nil {
		return explain(list)
	}
	return nil
}

// described returns what the document says of the response.
func (d *document) described(request *http.Request, response *http.Response) (*v3.Response, error) {
	method := strings.ToLower(request.Method)
	if method == "head" {
		method = "get"
	}
	item := d.find(request)
	if item == nil {
		return nil, fmt.Errorf("the document has no path for %s", request.URL.Path)
	}
	operation := item.GetOperations().GetOrZero(method)
	if operation == nil {
		return nil, fmt.Errorf("the document has no %s %s", method, request.URL.Path)
	}
	found := operation.Responses.Codes.GetOrZero(fmt.Sprint(response.StatusCode))
	if found == nil {
		return nil, fmt.Errorf("the document has no %d for %s %s", response.StatusCode, method, request.URL.Path)
	}
	return found, nil
}

// ofEach are fields that responses have without their being described.
var ofEach = []string{"Content-Type", "Content-Length", "Date"}

// checkFields finds header fields that the document does not have, and security headers that are missing.
func (d *document) checkFields(e *exchange) error {
	request, response := e.with()
	found, err := d.described(request, response)
	if err != nil {
		return nil // checkResponse knows of it
	}
	known := map[string]bool{}
	for name := range found.Headers.FromOldest() {
		known[http.CanonicalHeaderKey(name)] = true
	}
	for name := range response.Header {
		if !known[name] && !slices.Contains(ofEach, name) {
			return fmt.Errorf("the document has no header %s for this %d", name, response.StatusCode)
		}
	}
	if known["X-Frame-Options"] && strings.HasPrefix(response.Header.Get("Content-Type"), "application/json; charset=utf-8") {
		for _, name := range secured {
			if response.Header.Get(name) == "" {
				return fmt.Errorf("the response lacks the header %s", name)
			}
		}
	}
	return nil
}

var secured = []string{"Content-Security-Policy", "Permissions-Policy", "Strict-Transport-Security", "X-Content-Type-Options",
	"X-Frame-Options", "X-XSS-Protection", "Referrer-Policy"}

// checkHead compares the head with that of a GET.
func (d *document) checkHead(e *exchange) error {
	request, response := e.with()
	if len(e.received) != 0 {
		return fmt.Errorf("a HEAD was answered with the body %q", e.received)
	}
	found, err := d.described(request, response)
	if err != nil {
		return err
	}
	code := fmt.Sprint(response.StatusCode)
	if _, list := responses.ValidateResponseHeaders(request, response, found.Headers, request.URL.Path, code); list != nil {
		return explain(list)
	}
	return nil
}

// checkStream compares the events of a stream, which may have been left in the middle of a frame.
func (d *document) checkStream(stream []byte) error {
	for {
		frame, rest, ok := bytes.Cut(stream, []byte("\n\n"))
		if !ok {
			return nil
		}
		stream = rest
		switch {
		case bytes.Equal(frame, []byte(": keepalive")), bytes.Equal(frame, []byte(": stream closed")):
		default:
			payload, ok := bytes.CutPrefix(frame, []byte("data: "))
			if !ok {
				return fmt.Errorf("the frame %q is neither data nor a known comment", frame)
			}
			if err := d.checkSchema("RunEvent", payload); err != nil {
				return err
			}
		}
	}
}

// checkSchema compares JSON with a schema of the document.
func (d *document) checkSchema(name string, text []byte) error {
	proxy := d.model.Components.Schemas.GetOrZero(name)
	if proxy == nil {
		return fmt.Errorf("the document has no schema %s", name)
	}
	if _, list := d.schemas.ValidateSchemaBytes(proxy.Schema(), text); list != nil {
		return fmt.Errorf("%s: %w", text, explain(list))
	}
	return nil
}

// judge is a transport that compares every exchange with the document.
type judge struct {
	next     http.RoundTripper
	document *document
	report   func(e *exchange, err error)

	mu        sync.Mutex
	seen      map[string]bool // "METHOD path status" as in the document; nil: of no interest
	keep      bool
	kept      []*exchange
	exchanges int
	streams   int
}

func (j *judge) RoundTrip(request *http.Request) (*http.Response, error) {
	e := &exchange{request: request}
	if request.Body != nil {
		var err error
		e.sent, err = io.ReadAll(request.Body)
		request.Body.Close()
		if err != nil {
			return nil, err
		}
		request = request.Clone(request.Context())
		request.Body = io.NopCloser(bytes.NewReader(e.sent))
	}
	response, err := j.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	e.response = response
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") && request.Method == http.MethodGet {
		response.Body = &judged{ReadCloser: response.Body, exchange: e, judge: j}
		return response, nil
	}
	e.received, err = io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(e.received))
	j.check(e)
	return response, nil
}

func (j *judge) check(e *exchange) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.exchanges++
	if path := j.document.pattern(e.request); path != "" && j.seen != nil {
		j.seen[fmt.Sprintf("%s %s %d", e.request.Method, path, e.response.StatusCode)] = true
	}
	if e.response.StatusCode/100 == 2 {
		if err := j.document.checkRequest(e); err != nil {
			j.report(e, fmt.Errorf("the request: %w", err))
		}
	}
	if err := errors.Join(j.document.checkResponse(e), j.document.checkFields(e)); err != nil {
		j.report(e, err)
	}
	if j.keep {
		j.kept = append(j.kept, e)
	}
}

// judged is the body of an event stream, which is compared when it is closed.
type judged struct {
	io.ReadCloser
	exchange *exchange
	judge    *judge

	mu   sync.Mutex
	got  []byte
	once sync.Once
}

func (b *judged) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	b.got = append(b.got, p[:n]...)
	b.mu.Unlock()
	return n, err
}

func (b *judged) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(func() {
		b.mu.Lock()
		// A stream that was left ends where it was left.
		if end := bytes.LastIndex(b.got, []byte("\n\n")); end >= 0 {
			b.exchange.received = b.got[:end+2]
		}
		b.mu.Unlock()
		b.judge.mu.Lock()
		b.judge.streams++
		b.judge.mu.Unlock()
		b.judge.check(b.exchange)
	})
	return err
}
