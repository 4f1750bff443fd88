package handler_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/faults"
	"github.com/hermesfake/hermesfake/handler"
	"github.com/hermesfake/hermesfake/transport"
)

// documented returns "METHOD /path" of each operation in an OpenAPI document, sorted. It reads the
// document's layout, not YAML: paths are indented by two spaces, and methods by four.
func documented(t *testing.T, document string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(document, "\npaths:\n")
	if !ok {
		t.Fatal("the document has no paths")
	}
	paths, _, ok := strings.Cut(rest, "\ncomponents:\n")
	if !ok {
		t.Fatal("the document has no components behind its paths")
	}
	key := regexp.MustCompile(`^(  |    )([^ #:][^:]*):$`)
	var found []string
	path := ""
	for line := range strings.SplitSeq(paths, "\n") {
		m := key.FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[1] == "  ":
			path = m[2]
		case m[2] != "parameters":
			found = append(found, strings.ToUpper(m[2])+" "+path)
		}
	}
	slices.Sort(found)
	return found
}

// unlisted are routes that the document describes and the index does not list: they are the page's own.
var unlisted = []string{"GET /__admin/ui/updates"}

// TestDocumentHasEveryRoute compares the OpenAPI document with the routes that are served. Those of supplied input are not this
// package's; internal/openapitest has them all come.
func TestDocumentHasEveryRoute(t *testing.T) {
	e := engine.New(engine.Config{})
	t.Cleanup(e.Close)
	d := &door{t, e, transport.New(handler.New(e, handler.Options{Controls: faults.New(1).Controls()}), "hermes.test")}
	r := d.get("/__admin/openapi.yaml")
	r.want(t, 200)
	if got := r.header.Get("Content-Type"); got != "application/yaml" {
		t.Errorf("the document comes as %q", got)
	}

	var index struct{ Routes []string }
	if err := json.Unmarshal([]byte(d.get("/__admin").body), &index); err != nil {
		t.Fatal(err)
	}
	served := append(index.Routes, handler.ProviderRoutes()...)
	described := documented(t, r.body)
	for _, route := range served {
		if !slices.Contains(described, route) {
			t.Errorf("the document lacks %s", route)
		}
	}
	for _, route := range described {
		if !slices.Contains(served, route) && !slices.Contains(unlisted, route) && !strings.Contains(route, "/hermes/supplied-input") {
			t.Errorf("the document has %s, which is not served", route)
		}
		method, path, _ := strings.Cut(route, " ")
		if strings.HasPrefix(path, "/v1") {
			if r := d.do(method, path, ""); r.status == 405 || strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") {
				t.Errorf("%s is documented and answers %d %s", route, r.status, r.body)
			}
		}
	}
}
