package handler

import (
	"errors"
	"net/http"

	"github.com/hermesfake/hermesfake/engine"
)

// bodyReply answers for a body that could not be read: the reply where the
// provider has one, else the error.
func bodyReply(err error) (*Reply, error) {
	if errors.Is(err, errTooLarge) {
		return tooLarge(), nil
	}
	return nil, err
}

// create is POST /v1/runs, in the provider's order of checks.
func (h *Handler) create(c *Call) (*Reply, error) {
	if err := c.gateway.Accepting(); err != nil {
		return refusal(err), nil
	}
	sessionKey, err := engine.ReadSessionKey(field(c.request.Header, "X-Hermes-Session-Key"))
	if err != nil {
		return refusal(err), nil
	}
	body, err := readBody(c.request)
	if err != nil {
		return bodyReply(err)
	}
	defer body.release()
	submission, err := engine.ReadSubmission(body.bytes, sessionKey, field(c.request.Header, "Idempotency-Key"))
	if err != nil {
		return refusal(err), nil
	}
	attach, err := h.suppliedInput(c)
	if err != nil {
		return inputRefusal(err), nil
	}
	gateway := c.gateway.Recording()
	admission, err := gateway.Submit(submission)
	if attach != nil {
		admitted := admission.Run
		if err != nil || admission.Replayed {
			admitted = nil
		}
		attach(admitted, body.bytes)
	}
	if err != nil {
		return refusal(err), nil
	}
	c.run, c.known, c.accept, c.checkpoint = admission.Run.ID(), true, !admission.Replayed, gateway.Recorded()
	if c.accept && h.onAdmitted != nil {
		h.onAdmitted(c.space.engine, admission, body.bytes)
	}
	b := append(make([]byte, 0, 112), `{"run_id": "`...)
	b = append(admission.Run.ID().Append(b), `", "status": "`...)
	if admission.Replayed {
		b = append(append(b, admission.Run.Status().String()...), `", "replayed": true}`...)
	} else {
		b = append(b, `started", "replayed": false}`...)
	}
	reply := providerJSON(http.StatusAccepted, b)
	reply.replayed = admission.Replayed
	reply.sessionKey = sessionKey
	return reply, nil
}

// identify reads the {run_id} of the path.
func (c *Call) identify() error {
	id, ok := engine.ParseRunID(c.route.run)
	if !ok {
		return &engine.Refusal{Reason: engine.RunNotFound, Subject: c.route.run}
	}
	c.run = id
	return nil
}

// find is identify, and the provider's first check of every run route.
func (c *Call) find() (*engine.Run, error) {
	if err := c.identify(); err != nil {
		return nil, err
	}
	run, err := c.gateway.Run(c.run)
	c.known = err == nil
	return run, err
}

// get is GET /v1/runs/{run_id}.
func (h *Handler) get(c *Call) (*Reply, error) {
	run, err := c.find()
	if err != nil {
		return refusal(err), nil
	}
	return providerJSON(http.StatusOK, run.AppendJSON(make([]byte, 0, 384))), nil
}

// stop is POST /v1/runs/{run_id}/stop.
func (h *Handler) stop(c *Call) (*Reply, error) {
	if err := c.identify(); err != nil {
		return refusal(err), nil
	}
	gateway := c.gateway.Recording()
	run, accepted, err := gateway.Stop(c.run)
	c.known = err == nil || errors.Is(err, engine.RunNotActive)
	if err != nil {
		return refusal(err), nil
	}
	if !accepted {
		return providerJSON(http.StatusOK, run.AppendJSON(nil)), nil
	}
	c.accept, c.checkpoint = true, gateway.Recorded()
	b := append(make([]byte, 0, 96), `{"run_id": "`...)
	b = append(run.ID().Append(b), `", "status": "stopping"}`...)
	return providerJSON(http.StatusOK, b), nil
}

// events is GET /v1/runs/{run_id}/events. HEAD subscribes to nothing.
func (h *Handler) events(c *Call) (*Reply, error) {
	if err := c.identify(); err != nil {
		return refusal(err), nil
	}
	reply := &Reply{Status: http.StatusOK, eventStream: true}
	if c.request.Method == http.MethodHead {
		if err := c.gateway.Subscribable(c.run); err != nil {
			return refusal(err), nil
		}
	} else {
		s, err := c.gateway.Subscribe(c.run)
		if err != nil {
			return refusal(err), nil
		}
		reply.Stream = s
	}
	c.known = true
	return reply, nil
}

// approval is POST /v1/runs/{run_id}/approval.
func (h *Handler) approval(c *Call) (*Reply, error) {
	if _, err := c.find(); err != nil {
		return refusal(err), nil
	}
	body, err := readBody(c.request)
	if err != nil {
		return bodyReply(err)
	}
	defer body.release()
	answer, err := engine.ReadAnswer(body.bytes)
	if err != nil {
		return refusal(err), nil
	}
	gateway := c.gateway.Recording()
	resolved, err := gateway.Approve(c.run, answer)
	if err != nil {
		return refusal(err), nil
	}
	c.accept, c.checkpoint = true, gateway.Recorded()
	return providerJSON(http.StatusOK, answer.AppendJSON(nil, c.run, resolved)), nil
}

// steer is POST /v1/runs/{run_id}/steer.
func (h *Handler) steer(c *Call) (*Reply, error) {
	if err := c.identify(); err != nil {
		return refusal(err), nil
	}
	if err := c.gateway.Steerable(c.run); err != nil {
		c.known = !errors.Is(err, engine.RunNotFound)
		return refusal(err), nil
	}
	c.known = true
	body, err := readBody(c.request)
	if err != nil {
		return bodyReply(err)
	}
	defer body.release()
	text, err := engine.ReadSteer(body.bytes)
	if err != nil {
		return refusal(err), nil
	}
	gateway := c.gateway.Recording()
	if err := gateway.Steer(c.run, text); err != nil {
		return refusal(err), nil
	}
	c.accept, c.checkpoint = true, gateway.Recorded()
	b := append(make([]byte, 0, 112), `{"object": "hermes.run.steer", "run_id": "`...)
	return providerJSON(http.StatusOK, append(c.run.Append(b), `", "accepted": true}`...)), nil
}
