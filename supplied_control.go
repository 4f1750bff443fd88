package hermesfake

import (
	"errors"
	"net/http"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
	"github.com/hermesfake/hermesfake/handler"
)

// inputControls are the routes of the control plane that are about supplied input. Where a {id} could be taken for another word, the
// path has a word before it.
func (k *core) inputControls() []handler.Control {
	const base = "/hermes/supplied-input"
	control := func(method, path string, answer func(*suppliedinput.Space, handler.ControlCall) (int, any)) handler.Control {
		return handler.Control{Method: method, Path: base + path, AnswerCall: func(c handler.ControlCall) (int, any) {
			return answer(k.inputsOf(c.Namespace), c)
		}}
	}
	return []handler.Control{
		control("POST", "", openControl),
		control("GET", "", scopesControl),
		control("GET", "/scopes/{id}", scopeControl),
		control("POST", "/scopes/{id}/close", closeControl),
		control("GET", "/scopes/{id}/result", resultControl),
		control("GET", "/scopes/{id}/failure", failureControl),
		control("POST", "/scopes/{id}/blocks", blockControl),
		control("POST", "/scopes/{id}/revalidate", revalidateParentsControl),
		control("POST", "/revalidate", revalidateControl),
		control("GET", "/sources", sourcesControl),
		control("POST", "/sources", putControl),
		control("GET", "/sources/{id}", sourceControl),
		control("POST", "/sources/{id}/annotate", annotateControl),
		control("POST", "/sources/{id}/erase", eraseControl),
		control("GET", "/verifications", verificationsControl),
		control("POST", "/verifications", verifyControl),
		control("DELETE", "/verifications", clearVerificationsControl),
		control("GET", "/queue", queueControl),
		control("POST", "/deliver", deliverControl),
		control("GET", "/work", workControl),
		control("GET", "/misuses", misusesControl),
		k.runControl(base+"/runs/{id}/participant", "participant"),
		k.runControl(base+"/runs/{id}/model-request", "model_request"),
		k.runControl(base+"/runs/{id}/tool", "tool"),
		k.runControl(base+"/runs/{id}/child", "child"),
		k.runControl(base+"/runs/{id}/rotate-session", "rotate_session"),
	}
}

// runControl is a control that has a run of the scope of requests do a step.
func (k *core) runControl(path, name string) handler.Control {
	return handler.Control{Method: "POST", Path: path, AnswerCall: func(c handler.ControlCall) (int, any) {
		view, err := k.fake.Namespace(c.Namespace)
		if err != nil {
			return http.StatusBadRequest, err
		}
		id, ok := engine.ParseRunID(c.ID)
		if !ok {
			return http.StatusNotFound, &engine.Refusal{Reason: RunNotFound, Subject: c.ID}
		}
		if err := view.namespace.InScope(id); err != nil {
			return http.StatusNotFound, err
		}
		step, err := readRunStep(name, readInputArguments(c.Body))
		if err == nil {
			err = step(c.Context, view.run(id))
		}
		var blocked *suppliedinput.Blocked
		switch {
		case errors.As(err, &blocked):
			return http.StatusOK, map[string]any{"allowed": false, "reason": blocked.Reason}
		case err != nil:
			return inputProblem(err)
		}
		return http.StatusOK, map[string]any{"allowed": true}
	}}
}

// inputProblem is the answer to what failed.
func inputProblem(err error) (int, any) {
	switch {
	case errors.Is(err, suppliedinput.ErrInvalid):
		return http.StatusBadRequest, err
	case errors.Is(err, suppliedinput.ErrNoScope), errors.Is(err, suppliedinput.ErrNoSource), errors.Is(err, suppliedinput.ErrNoChild):
		return http.StatusNotFound, err
	case errors.Is(err, suppliedinput.ErrScopeClosed), errors.Is(err, suppliedinput.ErrFull):
		return http.StatusConflict, err
	}
	return http.StatusInternalServerError, err
}

func openControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	o, err := readInputArguments(c.Body).opening()
	if err != nil {
		return inputProblem(err)
	}
	id, err := s.Open(o)
	if err != nil {
		return inputProblem(err)
	}
	scope, err := s.Scope(id)
	if err != nil {
		return inputProblem(err)
	}
	return http.StatusCreated, scopeOfInput(scope)
}

func scopesControl(s *suppliedinput.Space, _ handler.ControlCall) (int, any) {
	list := []scopeJSON{}
	for _, scope := range s.Scopes() {
		list = append(list, scopeOfInput(scope))
	}
	return http.StatusOK, map[string]any{"scopes": list}
}

func scopeControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	scope, err := s.Scope(c.ID)
	if err != nil {
		return inputProblem(err)
	}
	return http.StatusOK, scopeOfInput(scope)
}

func closeControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	if err := s.Close(c.ID); err != nil {
		return inputProblem(err)
	}
	return scopeControl(s, c)
}

func resultControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	result, err := s.Result(c.ID)
	if err != nil {
		return inputProblem(err)
	}
	return http.StatusOK, map[string]any{"result": result}
}

func failureControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	failure, err := s.Failure(c.ID)
	if err != nil {
		return inputProblem(err)
	}
	return http.StatusOK, map[string]any{"failure": failure}
}

func blockControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	a := readInputArguments(c.Body)
	source, text := a.wanted("source_id"), a.wanted("text")
	if err := a.done(); err != nil {
		return inputProblem(err)
	}
	block, err := s.Append(c.ID, source, text)
	if err != nil {
		return inputProblem(err)
	}
	return http.StatusCreated, map[string]any{"block": block}
}

// validity is the answer of a revalidation.
func validity(err error) (int, any) {
	var blocked *suppliedinput.Blocked
	switch {
	case errors.As(err, &blocked):
		return http.StatusOK, map[string]any{"valid": false, "reason": blocked.Reason}
	case err != nil:
		return inputProblem(err)
	}
	return http.StatusOK, map[string]any{"valid": true}
}

func revalidateParentsControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	return validity(s.RevalidateParents(c.Context, c.ID))
}

func revalidateControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	r, err := readInputArguments(c.Body).result()
	if err != nil {
		return inputProblem(err)
	}
	return validity(s.Revalidate(c.Context, r))
}

func sourcesControl(s *suppliedinput.Space, _ handler.ControlCall) (int, any) {
	list := []sourceJSON{}
	for _, source := range s.Sources() {
		list = append(list, sourceOfInput(source))
	}
	return http.StatusOK, map[string]any{"sources": list}
}

func putControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	a := readInputArguments(c.Body)
	source := Source{ID: a.wanted("source_id"), Text: a.text("text"), InputMessageHash: a.text("input_message_hash"), Version: a.count("source_version")}
	err := a.done()
	if err == nil {
		source, err = s.Put(source)
	}
	if err != nil {
		return inputProblem(err)
	}
	return http.StatusCreated, sourceOfInput(source)
}

func sourceControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	source, err := s.Source(c.ID)
	if err != nil {
		return inputProblem(err)
	}
	return http.StatusOK, sourceOfInput(source)
}

func annotateControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	a := readInputArguments(c.Body)
	annotation := a.wanted("annotation")
	err := a.done()
	if err == nil {
		err = s.Annotate(c.ID, annotation)
	}
	if err != nil {
		return inputProblem(err)
	}
	return sourceControl(s, c)
}

func eraseControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	dependents, err := s.Erase(c.ID)
	if err != nil {
		return inputProblem(err)
	}
	return http.StatusOK, map[string]any{"erased": c.ID, "dependents": dependents}
}

func verificationsControl(s *suppliedinput.Space, _ handler.ControlCall) (int, any) {
	list := []verificationJSON{}
	for _, v := range s.Verifications() {
		list = append(list, verificationOfInput(v))
	}
	return http.StatusOK, map[string]any{"verifications": list}
}

func verifyControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	v, err := readInputArguments(c.Body).verification()
	if err == nil {
		err = s.SetVerification(v)
	}
	if err != nil {
		return inputProblem(err)
	}
	return http.StatusCreated, verificationOfInput(v)
}

func clearVerificationsControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	s.ClearVerifications(c.Query.Get("source_id"))
	return verificationsControl(s, c)
}

func queueControl(s *suppliedinput.Space, _ handler.ControlCall) (int, any) {
	queued, err := s.Queued()
	if err != nil {
		return inputProblem(err)
	}
	failures := []string{}
	for _, err := range s.QueueFailures() {
		failures = append(failures, err.Error())
	}
	return http.StatusOK, map[string]any{"envelopes": append([]InputEnvelope{}, queued...), "failures": failures}
}

func deliverControl(s *suppliedinput.Space, _ handler.ControlCall) (int, any) {
	delivered, err := s.Deliver()
	if err != nil {
		return inputProblem(err)
	}
	return http.StatusOK, map[string]any{"delivered": delivered}
}

func workControl(s *suppliedinput.Space, c handler.ControlCall) (int, any) {
	viewer := c.Query.Get("contact_id")
	if viewer == "" {
		return http.StatusBadRequest, errors.New("work: contact_id must say who looks")
	}
	return http.StatusOK, map[string]any{"work": s.Work(viewer)}
}

func misusesControl(s *suppliedinput.Space, _ handler.ControlCall) (int, any) {
	list := []misuseJSON{}
	for _, m := range s.Misuses() {
		list = append(list, misuseOfInput(m))
	}
	return http.StatusOK, map[string]any{"misuses": list}
}
