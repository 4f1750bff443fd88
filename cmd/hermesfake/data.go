package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/hermesfake/hermesfake/engine/badgerstore"
	"github.com/hermesfake/hermesfake/engine/suppliedinput/badgerqueue"
)

// openData opens the store of --data, and the queue of supplied input beside it. The caller closes both with closeData; they are
// nil where there is no --data.
func (s *settings) openData(stderr io.Writer) (err error) {
	if s.data == "" {
		if s.sync || s.recover {
			return errors.New("--sync and --recover need --data")
		}
		return nil
	}
	var options []badgerstore.Option
	if s.sync {
		options = append(options, badgerstore.WithSync())
	}
	if s.recover {
		options = append(options, badgerstore.WithRecover())
	}
	defer func() {
		if errors.Is(err, badgerstore.ErrDamaged) {
			err = fmt.Errorf("%w (here: --recover)", err)
		}
	}()
	if s.store, err = badgerstore.Open(s.data, options...); err != nil {
		return err
	}
	if s.queue, err = badgerqueue.Open(s.data, options...); err != nil {
		return errors.Join(err, s.closeData())
	}
	s.report(stderr, "keyed runs", s.store.Recovered())
	s.report(stderr, "supplied input", s.queue.Recovered())
	return nil
}

// report logs what was recovered of something.
func (s *settings) report(stderr io.Writer, what string, r *badgerstore.Recovery) {
	if r == nil {
		return
	}
	log := s.logger(stderr)
	log.Warn("recovered", "what", what, "damage", r.Damage, "kept", r.Kept, "dropped", len(r.Dropped), "lost", r.Lost, "old", r.Old)
	for _, d := range r.Dropped {
		log.Warn("dropped", "what", what, "namespace", d.Namespace, "run", d.Run.String(), "reason", d.Reason)
	}
}

// closeData closes what openData has opened.
func (s *settings) closeData() (err error) {
	if s.queue != nil {
		err = s.queue.Close()
	}
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	s.queue, s.store = nil, nil
	return err
}
