package handler

import (
	"errors"
	"net/http"

	"github.com/hermesfake/hermesfake/canon"
	"github.com/hermesfake/hermesfake/engine"
)

// envelope is how the provider words an error of a kind.
type envelope struct {
	status     int
	kind       string // "": invalid_request_error
	code       string // "": null
	brief      bool   // only message and type
	retryAfter bool
	own        bool // the emulator's refusal, not the provider's
}

const (
	requestError     = "invalid_request_error"
	unsupportedError = "mockingbird_unsupported"
	unsupportedCode  = "operation_not_implemented"
	storageError     = "mockingbird_storage"
)

var envelopes = map[engine.Reason]envelope{
	engine.Draining:               {status: 503, code: "gateway_draining", retryAfter: true},
	engine.SessionKeyInvalid:      {status: 400, brief: true},
	engine.SessionKeyTooLong:      {status: 400, brief: true},
	engine.InvalidJSON:            {status: 400},
	engine.SteerInvalidJSON:       {status: 400},
	engine.KeyInvalid:             {status: 400, code: "invalid_idempotency_key"},
	engine.InputMissing:           {status: 400},
	engine.InputWithoutMessage:    {status: 400},
	engine.HistoryNotArray:        {status: 400},
	engine.HistoryItem:            {status: 400},
	engine.KeyConflict:            {status: 409, code: "idempotency_key_conflict"},
	engine.AtCapacity:             {status: 429, kind: "rate_limit_error", code: "rate_limit_exceeded", retryAfter: true},
	engine.RunNotFound:            {status: 404, code: "run_not_found"},
	engine.RunNotActive:           {status: 409, code: "run_not_active"},
	engine.ApprovalRequestInvalid: {status: 400, code: "invalid_approval_request"},
	engine.ApprovalChoiceInvalid:  {status: 400, code: "invalid_approval_choice"},
	engine.ApprovalNotActive:      {status: 409, code: "approval_not_active"},
	engine.ApprovalNotPending:     {status: 409, code: "approval_not_pending"},
	engine.SteerNotAccepting:      {status: 409, code: "run_not_accepting_steer"},
	engine.SteerNotObject:         {status: 400},
	engine.SteerEmpty:             {status: 400, code: "invalid_steer_input"},
	engine.SteerRefused:           {status: 409, code: "steer_not_accepted"},
	engine.SteerFailed:            {status: 500, code: "steer_failed"},
	engine.Unsupported:            {status: 501, kind: unsupportedError, code: unsupportedCode, own: true},
	engine.RunSettled:             {status: 409, code: "mock_terminal_run"},
	engine.RunForeign:             {status: 409, code: "mock_foreign_run"},
	engine.StatusInvalid:          {status: 400},
	engine.QueueFull:              {status: 409, code: "mock_queue_full"},
	engine.StorageFailed:          {status: 500, kind: storageError, code: "storage_failed", own: true},
	engine.Closed:                 {status: 503, code: "mock_closed", own: true},
}

// refusal is the reply to an operation that failed with err.
func refusal(err error) *Reply {
	return refusalFor(err, err.Error())
}

// refusalFor is refusal with another message.
func refusalFor(err error, message string) *Reply {
	var reason engine.Reason
	e := envelope{status: http.StatusInternalServerError}
	if errors.As(err, &reason) {
		e = envelopes[reason]
	}
	return e.reply(message)
}

// reply renders the envelope around a message.
func (e envelope) reply(message string) *Reply {
	kind := e.kind
	if kind == "" {
		kind = requestError
	}
	body := append(make([]byte, 0, 192), `{"error": {"message": `...)
	body = canon.AppendWireString(body, message)
	body = canon.AppendWireString(append(body, `, "type": `...), kind)
	if !e.brief {
		body = append(body, `, "param": null, "code": `...)
		if e.code == "" {
			body = append(body, "null"...)
		} else {
			body = canon.AppendWireString(body, e.code)
		}
	}
	r := providerJSON(e.status, append(body, "}}"...))
	r.retryAfter, r.own = e.retryAfter, e.own
	return r
}

// unsupported is the emulator's own refusal: what is not known of the provider is never made up.
func unsupported(what string) *Reply {
	return refusal(&engine.Refusal{Reason: engine.Unsupported, Subject: what})
}

func tooLarge() *Reply {
	r := envelope{status: http.StatusRequestEntityTooLarge, code: "body_too_large"}.reply("Request body too large.")
	r.secured = false
	return r
}
