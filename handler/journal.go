package handler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

// Entry is what the journal keeps of a request to the provider: what it was
// and how it ended, and nothing that the client wrote into it but the path.
type Entry struct {
	At          time.Time           // on the namespace's clock, when its reply was ready
	Namespace   string              //
	Operation   Operation           // "" where no route matched
	Method      string              //
	Path        string              // escaped, without the query, cut to 1024 bytes
	Status      int                 // 0 where the reply was lost
	Duration    time.Duration       // until the reply's head was ready
	Unmatched   bool                // no route, or none for this method
	FaultID     string              // the fault that it met last, if any
	RunID       string              // the run that it was about, if there is one
	Accepted    bool                // it changed the state
	Checkpoint  engine.CheckpointID // of the state that it left, if it changed it
	ContentType string              // of the request, without parameters, where the emulator itself refused it
	BodyBytes   int64               // likewise; -1 where unknown

	own bool // the emulator itself refused it
}

// Bounds of what an entry keeps, in bytes.
const (
	maxJournalPath   = 1024
	maxJournalType   = 128
	maxJournalMethod = 32
)

// DefaultJournalSize is how many entries a namespace's journal keeps.
const DefaultJournalSize = 1000

func cutMethod(r *http.Request) string { return r.Method[:min(len(r.Method), maxJournalMethod)] }

// cutPath copies the path, which is a part of the request's line, and would pin that.
func cutPath(path string) string { return strings.Clone(path[:min(len(path), maxJournalPath)]) }

// mediaType is a request's Content-Type without its parameters, which may hold anything.
func mediaType(h http.Header) string {
	kind, _, _ := strings.Cut(field(h, "Content-Type"), ";")
	kind = strings.TrimSpace(kind)
	return strings.Clone(kind[:min(len(kind), maxJournalType)])
}

// journal is a ring of the latest entries. It counts those too that fell out.
type journal struct {
	mu      sync.Mutex
	size    int
	ring    []logged
	next    int
	dropped int
	counts  [len(operations) + 1]int // since it began or was cleared; the last one is of no operation
	added   uint64                   // so far, those that were cleared included
	clears  uint64
}

// logged is an Entry whose RunID is printed when somebody asks.
type logged struct {
	Entry
	run   engine.RunID
	known bool
}

// place is where an operation is counted.
func place(o Operation) int {
	if i := slices.Index(operations[:], o); i >= 0 {
		return i
	}
	return len(operations)
}

func (j *journal) add(e logged) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counts[place(e.Operation)]++
	j.added++
	if len(j.ring) < j.size {
		j.ring = append(j.ring, e)
		return
	}
	j.dropped++
	if j.size == 0 {
		return
	}
	j.ring[j.next] = e
	j.next = (j.next + 1) % j.size
}

// entries returns a copy, oldest first, and how many fell out before.
func (j *journal) entries() ([]Entry, int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	entries := make([]Entry, 0, len(j.ring))
	for _, part := range [...][]logged{j.ring[j.next:], j.ring[:j.next]} {
		for _, e := range part {
			if e.known {
				e.RunID = e.run.String()
			}
			entries = append(entries, e.Entry)
		}
	}
	return entries, j.dropped
}

// sizes are how many entries there are, and how many fell out.
func (j *journal) sizes() (kept, dropped int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.ring), j.dropped
}

func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ring, j.next, j.dropped = nil, 0, 0
	clear(j.counts[:])
	j.clears++
}

// shortfall is what is missing to n requests for an operation, or of all if it is ""; nil if nothing is.
func (j *journal) shortfall(o Operation, n int) *shortfall {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &shortfall{operation: o, want: n, counts: j.counts}
	if s.got() >= n {
		return nil
	}
	return s
}

// shortfall is the error of a wait for requests that did not come.
type shortfall struct {
	operation Operation
	want      int
	counts    [len(operations) + 1]int
	cause     error
}

func (s *shortfall) got() int {
	if s.operation != "" {
		return s.counts[place(s.operation)]
	}
	n := 0
	for _, c := range s.counts {
		n += c
	}
	return n
}

// Error says how many requests arrived, and which others.
func (s *shortfall) Error() string {
	var arrived []string
	for i, n := range s.counts {
		if n > 0 && i < len(operations) {
			arrived = append(arrived, fmt.Sprintf("%s %d", operations[i], n))
		} else if n > 0 {
			arrived = append(arrived, fmt.Sprintf("no route %d", n))
		}
	}
	if arrived == nil {
		arrived = append(arrived, "none at all")
	}
	what := "requests"
	if s.operation != "" {
		what = string(s.operation)
	}
	return fmt.Sprintf("requests: waited for %d %s, got %d (so far: %s): %v", s.want, what, s.got(),
		strings.Join(arrived, ", "), s.cause)
}

func (s *shortfall) Unwrap() error { return s.cause }

// ErrOperation is wrapped by the error for a name that is no operation's.
var ErrOperation = errors.New("operation")

func (o Operation) check() error {
	if o != "" && !slices.Contains(operations[:], o) {
		return fmt.Errorf("%w: must be one of %s", ErrOperation, operationNames())
	}
	return nil
}

// operationNames lists the operations for an error.
func operationNames() string {
	names := make([]string, len(operations))
	for i, o := range operations {
		names[i] = string(o)
	}
	return strings.Join(names, ", ")
}

// await waits until n requests for the operation, or n of all if it is "", have come since the
// journal began or was cleared.
func (s *space) await(ctx context.Context, o Operation, n int) error {
	if s.journal.shortfall(o, n) == nil {
		return nil
	}
	err := s.engine.AwaitNotice(ctx, func() bool { return s.journal.shortfall(o, n) == nil })
	if err == nil {
		return nil
	}
	missing := s.journal.shortfall(o, n)
	if missing == nil {
		return nil
	}
	missing.cause = err
	return missing
}

// Entries returns a copy of the namespace's journal, oldest first, and how
// many entries fell out before. An error wraps engine.ErrNamespace.
func (h *Handler) Entries(namespace string) ([]Entry, int, error) {
	s, err := h.space(namespace)
	if err != nil {
		return nil, 0, err
	}
	entries, dropped := s.journal.entries()
	return entries, dropped, nil
}

// AwaitEntries waits until the namespace's journal has counted n requests for an operation, or n of
// all if it is "", since it began or was cleared; those that fell out count too. It fails with the
// context's error, engine.Closed, engine.ErrNamespace or ErrOperation.
func (h *Handler) AwaitEntries(ctx context.Context, namespace string, o Operation, n int) error {
	if err := o.check(); err != nil {
		return err
	}
	s, err := h.space(namespace)
	if err != nil {
		return err
	}
	return s.await(ctx, o, n)
}

// ClearEntries empties the namespace's journal, and it counts from 0 again. An error wraps engine.ErrNamespace.
func (h *Handler) ClearEntries(namespace string) error {
	s, err := h.space(namespace)
	if err == nil {
		s.journal.clear()
		h.pages.tell(s)
	}
	return err
}

// after returns the entries that were added after the first so many, the latest ones and at most
// limit; how many were added, how often the journal was cleared, and how many entries fell out since.
func (j *journal) after(seen uint64, limit int) (entries []Entry, added, clears uint64, dropped int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fresh := min(j.added-seen, uint64(limit), uint64(len(j.ring)))
	for i := len(j.ring) - int(fresh); i < len(j.ring); i++ {
		e := j.ring[(j.next+i)%len(j.ring)]
		if e.known {
			e.RunID = e.run.String()
		}
		entries = append(entries, e.Entry)
	}
	return entries, j.added, j.clears, j.dropped
}
