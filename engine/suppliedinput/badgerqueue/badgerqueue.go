// Package badgerqueue keeps the queue of supplied input on disk, in a Badger database, so that what was recorded outlives the
// process.
//
//	queue, err := badgerqueue.Open(dir)
//	hermes := hermesfake.New(hermesfake.WithInputQueue(queue))
//
// The directory may be that of a badgerstore.Store too: the queue has a subdirectory of its own, and the files, the options, the
// errors and the care for damage of that package.
package badgerqueue

import (
	"errors"
	"path/filepath"

	"github.com/hermesfake/hermesfake/engine/badgerstore"
	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// Subdirectory is where in its directory a queue is.
const Subdirectory = "input"

// Queue is a suppliedinput.Queue on disk. It holds ids and hashes, no text.
type Queue struct {
	*suppliedinput.StoreQueue
	recovered *badgerstore.Recovery
}

var _ suppliedinput.Queue = (*Queue)(nil)

// Open opens the queue of a directory, which it makes if there is none. An error wraps one of package badgerstore, whose
// options these are, or suppliedinput.ErrEnvelope; nothing has changed then.
func Open(dir string, options ...badgerstore.Option) (*Queue, error) {
	store, err := badgerstore.Open(filepath.Join(dir, Subdirectory), options...)
	if err != nil {
		return nil, err
	}
	queue, err := suppliedinput.NewStoreQueue(store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &Queue{queue, store.Recovered()}, nil
}

// Recovered is what badgerstore.WithRecover found and dropped, nil if nothing was damaged. A Run in it is the key of an envelope.
func (q *Queue) Recovered() *badgerstore.Recovery { return q.recovered }
