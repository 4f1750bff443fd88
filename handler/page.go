package handler

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
)

// The page is plain files: HTML, style sheets and modules that the browser takes as they are.
//
//go:embed ui
var pageFiles embed.FS

// pageTypes are the types of the page's files. Others are not served.
var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// pageHeader has the fields of each of the page's files. They show nothing of anybody, so no
// admin key is asked for: the page itself asks for it, and brings it with what it fetches.
var pageHeader = [...][2]string{
	{"Cache-Control", "no-cache"},
	{"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Permissions-Policy", "camera=(), microphone=(), geolocation=()"},
	{"Referrer-Policy", "no-referrer"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
}

// pageFile is a file of the page, ready to be sent.
type pageFile struct {
	body   []byte
	kind   string
	header http.Header
	etag   string
}

// readPage reads the page's files, by their names.
func readPage() map[string]*pageFile {
	files := map[string]*pageFile{}
	entries, _ := pageFiles.ReadDir("ui")
	for _, e := range entries {
		kind := pageTypes[path.Ext(e.Name())]
		body, err := pageFiles.ReadFile("ui/" + e.Name())
		if kind == "" || err != nil {
			continue
		}
		sum := sha256.Sum256(body)
		f := &pageFile{body: body, kind: kind, etag: `"` + hex.EncodeToString(sum[:16]) + `"`, header: http.Header{}}
		for _, field := range pageHeader {
			f.header.Set(field[0], field[1])
		}
		f.header.Set("ETag", f.etag)
		files[e.Name()] = f
	}
	return files
}

// pageReply answers a request for a file of the page, whose path is below /__admin. It is nil
// where the path is for something else.
func (h *Handler) pageReply(r *http.Request, at string) *Reply {
	name, ok := strings.CutPrefix(at, "/ui")
	if !ok {
		return nil
	}
	if name == "/" {
		reply := plainText(http.StatusPermanentRedirect, "")
		to := "../ui"
		if query := r.URL.Query().Encode(); query != "" {
			to += "?" + query
		}
		reply.substitute = http.Header{"Location": {to}}
		return reply
	}
	if name == "" {
		name = "/index.html"
	}
	f := h.files()[strings.TrimPrefix(name, "/")]
	if f == nil || name[0] != '/' {
		return nil
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		reply := adminError(http.StatusMethodNotAllowed, "this control takes GET")
		reply.allow = "GET"
		return reply
	}
	reply := &Reply{Status: http.StatusOK, Body: f.body, contentType: f.kind, substitute: f.header}
	for _, tag := range strings.Split(field(r.Header, "If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(tag), "W/") == f.etag {
			reply.Status, reply.Body = http.StatusNotModified, nil
		}
	}
	return reply
}
