package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/hermesfake/hermesfake/engine/badgerstore"
)

// openData opens the store of --data, which the caller closes; nil where there is none.
func (s *settings) openData(stderr io.Writer) (*badgerstore.Store, error) {
	if s.data == "" {
		if s.sync || s.recover {
			return nil, errors.New("--sync and --recover need --data")
		}
		return nil, nil
	}
	var options []badgerstore.Option
	if s.sync {
		options = append(options, badgerstore.WithSync())
	}
	if s.recover {
		options = append(options, badgerstore.WithRecover())
	}
	store, err := badgerstore.Open(s.data, options...)
	if err != nil {
		if errors.Is(err, badgerstore.ErrDamaged) {
			err = fmt.Errorf("%w (here: --recover)", err)
		}
		return nil, err
	}
	if r := store.Recovered(); r != nil {
		log := s.logger(stderr)
		log.Warn("recovered", "damage", r.Damage, "kept", r.Kept, "dropped", len(r.Dropped), "lost", r.Lost, "old", r.Old)
		for _, d := range r.Dropped {
			log.Warn("dropped", "namespace", d.Namespace, "run", d.Run.String(), "reason", d.Reason)
		}
	}
	return store, nil
}
