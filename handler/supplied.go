package handler

import (
	"errors"
	"net/http"

	"github.com/hermesfake/hermesfake/engine"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// SuppliedInputHeader names the scope of supplied input that a submission belongs to, for hosts that cannot give it
// in a context.
const SuppliedInputHeader = "X-Mockingbird-Supplied-Input"

const suppliedInputError = "mockingbird_supplied_input"

// suppliedInput asks about the scope of a submission.
func (h *Handler) suppliedInput(c *Call) (attach func(*engine.Run, []byte), err error) {
	if h.onSupplied == nil {
		return nil, nil
	}
	id := field(c.request.Header, SuppliedInputHeader)
	if _, named := c.request.Header[SuppliedInputHeader]; named && id == "" {
		return nil, suppliedinput.ErrNoScope // a host that has lost the id of its scope
	}
	return h.onSupplied(c.request.Context(), c.space.engine, id)
}

// inputRefusal is the emulator's own answer to a submission whose scope cannot be used.
func inputRefusal(err error) *Reply {
	e := envelope{status: http.StatusBadRequest, kind: suppliedInputError, code: "supplied_input_unknown", own: true}
	if errors.Is(err, suppliedinput.ErrScopeClosed) {
		e.status, e.code = http.StatusConflict, "supplied_input_closed"
	}
	return e.reply("Mockingbird: " + err.Error())
}
