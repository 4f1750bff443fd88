package engine

import (
	"encoding/binary"

	"github.com/benbjohnson/immutable"
)

// world is the whole state of a namespace. It is a value: a command makes the next
// world from the last and changes nothing that the last one refers to. So a
// checkpoint is a pointer, and whoever holds an older world still sees it.
// Who is connected is not state of the world: see line.
type world struct {
	records *immutable.Map[RunID, *record]

	settled *schedule // cached runs that a sweep may remove, by their updated_at
	queues  *schedule // event queues, by the admission of their run
	rows    *schedule // durable rows of settled runs, by their own update time

	cached   int    // runs in the cache
	durable  int    // durable rows
	active   int    // runs that hold a slot
	admitted uint64 // admissions so far; also the sequence that ids come from

	clock     clock
	nextSweep int64
	scope     *Scope    // set by SetScope; nil: each view's own
	owners    ownership // of rows that are not in the cache
	gateway   Gateway
}

// record is what a namespace knows of one run. It never changes.
type record struct {
	run       *Run       // in the cache of this gateway process; nil when only the row is left
	row       *row       // nil for a keyless run and once pruned
	queue     *queue     // nil when the run has no event queue, or no longer
	execution *execution // nil while there is nothing to tell
}

// row is the durable half of a keyed run.
type row struct {
	key         keyHash
	fingerprint [32]byte
	run         *Run     // the observation as last written
	updated     int64    // the row's own update time
	owner       *process // who admitted it, shared by its rows; nil: this process
}

type idHasher struct{}

func (idHasher) Hash(id RunID) uint32  { return binary.LittleEndian.Uint32(id[:]) }
func (idHasher) Equal(a, b RunID) bool { return a == b }

func newWorld(c clock, g Gateway, now int64) *world {
	return &world{
		records:   immutable.NewMap[RunID, *record](idHasher{}),
		clock:     c,
		gateway:   g,
		nextSweep: now + int64(sweepInterval),
	}
}

func (w *world) record(id RunID) *record {
	rec, _ := w.records.Get(id)
	return rec
}

// put stores rec, which stands for one more cached run or row only where the
// caller has counted it.
func (w *world) put(id RunID, rec *record) {
	if rec.run == nil && rec.row == nil {
		w.records = w.records.Delete(id)
		return
	}
	w.records = w.records.Set(id, rec)
}

// cache makes run the cached observation of rec.
func (w *world) cache(rec *record, run *Run) {
	if rec.run == nil {
		w.cached++
	}
	if rec.run != nil && rec.run.active && !run.active {
		w.active--
	}
	rec.run = run
	if sweepable(run.status) {
		w.settled = w.settled.put(run.updated, run.id)
	}
}

// write makes run the observation of rec's row, if it has one.
func (w *world) write(rec *record, run *Run, now int64) {
	if rec.row == nil {
		return
	}
	next := *rec.row
	next.run, next.updated = run, now
	rec.row = &next
	if run.status.Terminal() {
		w.rows = w.rows.put(now, run.id)
	}
}

// update applies one step to a run: to the cache, and to the row if the
// provider writes it there.
func (w *world) update(rec *record, u *update, now int64) {
	durable := u.durable(rec.run)
	run := rec.run.after(u, now)
	w.cache(rec, run)
	if durable {
		w.write(rec, run, now)
	}
}
