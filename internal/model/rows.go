package model

import "github.com/hermesfake/hermesfake/canon"

// A row is what outlives the process: one per keyed admission.
type row struct {
	scope, key  string
	fingerprint [32]byte
	id          string
	status      canon.Object
	updated     int64
}

// find is the run of the selected scope, read back from its row if the cache has it no more, or nil.
func (m *Model) find(id string) *run {
	if r := m.cached(id); r != nil {
		if r.scope != m.scope {
			return nil
		}
		return r
	}
	for _, row := range m.rows {
		if row.id == id && row.scope == m.scope {
			return m.readBack(row)
		}
	}
	return nil
}

// readBack puts a row's run into the cache, members in alphabetical order. An unfinished run whose owner is gone
// becomes interrupted on the way, and keeps its approval (restart-stale).
func (m *Model) readBack(row *row) *run {
	r := &run{id: row.id, scope: row.scope, status: canon.Sorted(row.status).(canon.Object), updated: row.updated}
	m.cache = append(m.cache, r)
	if !m.alive && !terminal(r.state()) {
		r.updated = m.now
		r.status = with(r.status, text("status", "interrupted"))
		r.status = with(r.status, member("updated_at", m.seconds()))
		r.status = with(r.status, text("error", "The gateway restarted before this run settled."))
		r.status = with(r.status, text("last_event", "run.interrupted"))
		m.write(r)
	}
	return r
}

// write copies a run's status object to its row, if it has one.
func (m *Model) write(r *run) {
	for _, row := range m.rows {
		if row.id == r.id {
			row.status = append(canon.Object{}, r.status...)
			row.updated = m.now
		}
	}
}

// prune drops the rows of runs that have been terminal for over 24 h.
func (m *Model) prune() {
	var rows []*row
	for _, row := range m.rows {
		state, _ := row.status.Get("status")
		if terminal(string(state.(canon.String))) && m.now-row.updated > int64(rowKept) {
			continue
		}
		rows = append(rows, row)
	}
	m.rows = rows
}

// keyed is the row that the selected scope has under a key, or nil.
func (m *Model) keyed(key string) *row {
	for _, row := range m.rows {
		if row.scope == m.scope && row.key == key {
			return row
		}
	}
	return nil
}
