package handler

import (
	_ "embed"
	"net/http"
)

// document is an OpenAPI 3.1 document of the provider's routes and the control
// plane, written by hand. It must not be changed.
//
//go:embed openapi.yaml
var document []byte

// adminDocument is GET /__admin/openapi.yaml.
func (h *Handler) adminDocument(*adminCall) *Reply {
	return &Reply{Status: http.StatusOK, Body: document, contentType: "application/yaml"}
}
