package faults

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/hermesfake/hermesfake/handler"
)

// Controls returns the routes of the control plane that are about faults.
func (s *Set) Controls() []handler.Control {
	return []handler.Control{
		{Method: http.MethodGet, Path: "/faults", Answer: s.answerList},
		{Method: http.MethodPost, Path: "/faults", Answer: s.answerAdd},
		{Method: http.MethodDelete, Path: "/faults", Answer: s.answerRemove},
		{Method: http.MethodGet, Path: "/faults/presets", Answer: answerPresets},
	}
}

func (s *Set) answerList(string, url.Values, []byte) (int, any) {
	return http.StatusOK, map[string]any{"faults": s.List(AllNamespaces)}
}

func (s *Set) answerAdd(namespace string, _ url.Values, body []byte) (int, any) {
	rule, err := ReadRule(body)
	if err != nil {
		return http.StatusBadRequest, err
	}
	added, err := s.Add(namespace, rule)
	if err != nil {
		return http.StatusBadRequest, err
	}
	return http.StatusCreated, added[0]
}

var errNoRule = errors.New("there is no fault with this id; GET /__admin/faults lists them")

func (s *Set) answerRemove(_ string, query url.Values, _ []byte) (int, any) {
	removed := 1
	if !query.Has("id") {
		removed = s.Clear(AllNamespaces)
	} else if !s.Remove(query.Get("id")) {
		return http.StatusNotFound, errNoRule
	}
	return http.StatusOK, map[string]any{"status": "ok", "removed": removed}
}

func answerPresets(string, url.Values, []byte) (int, any) {
	type preset struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Rules       []Rule `json:"rules"`
	}
	presets := []preset{}
	for _, p := range Presets() {
		presets = append(presets, preset{p.Name, p.Description, []Rule{p.Rule}})
	}
	return http.StatusOK, map[string]any{"presets": presets}
}
