package handler

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hermesfake/hermesfake/canon"
)

// Substitute returns a reply that stands in for an operation's. A body that
// is a JSON object or array has the type and the security headers of the provider's JSON
// replies, any other is plain text; header, whose names are in canonical form,
// replaces what it names.
func Substitute(status int, header http.Header, body string) *Reply {
	r := plainText(status, body)
	if looksJSON(body) {
		r = providerJSON(status, r.Body)
	}
	if body == "" {
		r.contentType = ""
	}
	r.substitute = header
	if header == nil {
		r.substitute = http.Header{}
	}
	return r
}

func looksJSON(body string) bool {
	text := strings.TrimLeft(body, " \t\r\n")
	if text == "" || text[0] != '{' && text[0] != '[' {
		return false
	}
	d := canon.Get()
	defer d.Release()
	return d.Parse([]byte(body)) == nil
}

// Bodiless reports whether a reply with the status has no body and no length.
func Bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

func (r *Reply) replace(h http.Header) {
	if Bodiless(r.Status) {
		delete(h, "Content-Length")
	}
	for name, values := range r.substitute {
		h[name] = slices.Clip(values)
	}
}
