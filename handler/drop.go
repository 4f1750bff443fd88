package handler

// DropNamespace forgets a namespace: its runs, rows and journal. It begins anew with its next use. An
// error is the engine's, and nothing has changed.
func (h *Handler) DropNamespace(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.engine.DropNamespace(name); err != nil {
		return err
	}
	delete(h.spaces, name)
	return nil
}
