package handler

import (
	"errors"
	"net/http"

	"github.com/hermesfake/hermesfake/engine"
)

// checkpointJSON is a checkpoint on the wire.
type checkpointJSON struct {
	ID        engine.CheckpointID  `json:"id"`
	Branch    string               `json:"branch"`
	Parent    *engine.CheckpointID `json:"parent"`
	At        milliseconds         `json:"at"`
	Namespace string               `json:"namespace"`
	Pinned    bool                 `json:"pinned"`
}

func newCheckpointJSON(c engine.Checkpoint) checkpointJSON {
	return checkpointJSON{c.ID, c.Branch, orNull(c.Parent), milliseconds(c.At.UnixNano()), c.Namespace, c.Pinned}
}

// branchJSON is a branch on the wire.
type branchJSON struct {
	Name       string               `json:"name"`
	Head       *engine.CheckpointID `json:"head"`
	Current    bool                 `json:"current"`
	Checkpoint engine.CheckpointID  `json:"checkpoint,omitempty"` // that was taken
}

func orNull(id engine.CheckpointID) *engine.CheckpointID {
	if id == "" {
		return nil
	}
	return &id
}

// timelineError answers for what went wrong with a checkpoint or a branch.
func timelineError(err error) *Reply {
	switch {
	case errors.Is(err, engine.StorageFailed):
		return refusal(err)
	case errors.Is(err, engine.ErrNoCheckpoint), errors.Is(err, engine.ErrNoBranch):
		return adminError(http.StatusNotFound, err.Error())
	case errors.Is(err, engine.ErrBranchName):
		return adminError(http.StatusBadRequest, err.Error())
	case isRefusal(err):
		return adminError(http.StatusServiceUnavailable, err.Error())
	}
	return adminError(http.StatusConflict, err.Error())
}

func (h *Handler) adminCheckpoints(c *adminCall) *Reply {
	checkpoints := []checkpointJSON{}
	for _, p := range c.engine.Checkpoints() {
		checkpoints = append(checkpoints, newCheckpointJSON(p))
	}
	t := c.engine.Timeline()
	return adminJSON(http.StatusOK, map[string]any{
		"checkpoints": checkpoints, "dropped": t.Dropped, "branch": t.Branch, "head": orNull(t.Head),
	})
}

func (h *Handler) adminCheckpoint(c *adminCall) *Reply {
	if err := c.arguments("checkpoints").done(); err != nil {
		return adminError(http.StatusBadRequest, err.Error())
	}
	p, err := c.engine.Checkpoint()
	if err != nil {
		return timelineError(err)
	}
	return adminJSON(http.StatusCreated, newCheckpointJSON(p))
}

func (h *Handler) adminDeleteCheckpoint(c *adminCall) *Reply {
	if err := c.engine.DeleteCheckpoint(engine.CheckpointID(c.id)); err != nil {
		return timelineError(err)
	}
	return adminJSON(http.StatusOK, map[string]any{"status": "ok"})
}

func (h *Handler) adminBranches(c *adminCall) *Reply {
	branches := []branchJSON{}
	for _, b := range c.engine.Branches() {
		branches = append(branches, branchJSON{Name: b.Name, Head: orNull(b.Head), Current: b.Current})
	}
	return adminJSON(http.StatusOK, map[string]any{"branches": branches})
}

func (h *Handler) adminFork(c *adminCall) *Reply {
	a := c.arguments("branches")
	name, ok := a.text("name")
	if !ok {
		a.fail("name", "must be the name of the new branch")
	}
	from, ok := a.text("from")
	if ok && from == "" {
		a.fail("from", "must be the id of a checkpoint")
	}
	if err := a.done(); err != nil {
		return adminError(http.StatusBadRequest, err.Error())
	}
	b, err := c.engine.Fork(name, engine.CheckpointID(from))
	if err != nil {
		return timelineError(err)
	}
	return adminJSON(http.StatusCreated, branchJSON{Name: b.Name, Head: orNull(b.Head), Current: b.Current})
}

func (h *Handler) adminDeleteBranch(c *adminCall) *Reply {
	if err := c.engine.DeleteBranch(c.id); err != nil {
		return timelineError(err)
	}
	return adminJSON(http.StatusOK, map[string]any{"status": "ok"})
}

func (h *Handler) adminCheckout(c *adminCall) *Reply {
	a := c.arguments("checkout")
	id, ok := a.text("checkpoint")
	if ok && id == "" {
		a.fail("checkpoint", "must be the id of a checkpoint")
	}
	if err := a.done(); err != nil {
		return adminError(http.StatusBadRequest, err.Error())
	}
	p, err := c.engine.Checkout(c.id, engine.CheckpointID(id))
	if err != nil {
		return timelineError(err)
	}
	return adminJSON(http.StatusOK, branchJSON{Name: c.id, Head: &p.ID, Current: true, Checkpoint: p.ID})
}
