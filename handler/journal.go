package handler

import (
	"sync"
	"time"

	"github.com/hermesfake/hermesfake/engine"
)

// Entry is what the journal keeps of a request to the provider: what it was
// and how it ended, and nothing that the client wrote into it but the path.
type Entry struct {
	At          time.Time           // on the namespace's clock
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
	ContentType string              // of the request, where the emulator itself refused it
	BodyBytes   int64               // likewise; -1 where unknown
}

// Bounds of what an entry keeps, in bytes.
const (
	maxJournalPath   = 1024
	maxJournalType   = 128
	maxJournalMethod = 32
)

// DefaultJournalSize is how many entries a namespace's journal keeps.
const DefaultJournalSize = 1000

// journal is a ring of the latest entries.
type journal struct {
	mu      sync.Mutex
	size    int
	ring    []logged
	next    int
	dropped int
}

// logged is an Entry whose RunID is printed when somebody asks.
type logged struct {
	Entry
	run   engine.RunID
	known bool
}

func (j *journal) add(e logged) {
	j.mu.Lock()
	defer j.mu.Unlock()
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

func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ring, j.next, j.dropped = nil, 0, 0
}
