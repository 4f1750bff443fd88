package badgerstore

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"github.com/hermesfake/hermesfake/engine"
)

// Recovery is what WithRecover found in a damaged store.
type Recovery struct {
	Damage  error     // what Open would have failed with
	Kept    int       // rows that are sound
	Dropped []Dropped // rows that are not, as far as they can be told
	Lost    int       // rows that should be there, and of which nothing was found
	Old     string    // the subdirectory of the damaged files
}

// Dropped is a row that was left out.
type Dropped struct {
	Namespace string // "" where that is not known
	Run       engine.RunID
	Reason    string
}

// recover makes a new database of what is sound in the old one, and uses it from then on. Writing the head is the step
// that counts.
func (s *Store) recover(dir string, damage error) error {
	c, err := readContent(s.dir, s.head.closed, true)
	if err != nil {
		return err
	}
	next := s.head
	next.directory++
	s.recovered = &Recovery{Damage: damage, Old: s.head.rows()}
	rows := filepath.Join(dir, next.rows())
	unfinished := rows + ".new" // which a head that is missing does not make anybody use
	for _, path := range []string{rows, unfinished} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("%w: %w", ErrUnwritable, err)
		}
	}
	if err := s.checkRoom(dir, roomAlways+2*c.size()); err != nil {
		return err
	}
	for sequence := range c.logs {
		next.sequence = max(next.sequence, sequence)
	}
	next.sequence = max(next.sequence, c.tables) + 1
	if err := c.rebuild(s.config.badger(unfinished), next.sequence, s.recovered); err != nil {
		os.RemoveAll(unfinished)
		return err
	}
	next.closed = false
	err = os.Rename(unfinished, rows)
	if err == nil {
		err = s.writeHead(dir, next)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	s.head, s.dir = next, rows
	return nil
}

// reservedAfterDamage is how many ids are passed over in a namespace, since what it had reserved last may be lost.
const reservedAfterDamage = 1 << 32

// lostReserved is how many ids are passed over in a namespace that the store does not know: an earlier recovery, each of which
// made a directory, may have found nothing of it.
func (s *Store) lostReserved() uint64 {
	return uint64(max(1, s.head.directory)-1) * reservedAfterDamage
}

// rebuild writes what is sound into a new database.
func (c *content) rebuild(o badger.Options, sequence uint64, report *Recovery) error {
	db, err := openBadger(o)
	if err != nil {
		return err
	}
	defer db.Close()
	spaces, damaged := c.spaces()
	names := map[uint64]string{}
	expected := 0
	for name, s := range spaces {
		names[s.generation] = name
		expected += int(s.rows)
		s.rows = 0
	}
	for _, name := range damaged {
		report.Dropped = append(report.Dropped, Dropped{Namespace: name, Reason: "its namespace is damaged"})
	}
	batch := db.NewWriteBatch()
	defer batch.Cancel()
	generation := uint64(0)
	for _, key := range slices.Sorted(maps.Keys(c.newest)) {
		v := c.newest[key]
		if key[0] != rowKey || v.deleted {
			continue
		}
		of, id, ok := splitRowKey([]byte(key))
		name, known := names[of]
		switch _, err := c.record(key); {
		case !ok:
		case !known:
			if v, gone := c.newest[string(prefixOf(generationKey, of))]; !gone || v.deleted {
				report.Dropped = append(report.Dropped, Dropped{Run: id, Reason: "its namespace is not known"})
			}
		case err != nil:
			report.Dropped = append(report.Dropped, Dropped{name, id, err.Error()})
			expected--
		default:
			spaces[name].rows++
			report.Kept++
			expected--
			if err := batch.Set([]byte(key), v.value); err != nil {
				return err
			}
			_, p, _ := readRow([]byte(key), v.value)
			for i := range int(p.count) {
				part := keyOfPart(of, id, p.sequence, i)
				value, _ := c.get(part)
				if err := batch.Set(part, value); err != nil {
					return err
				}
			}
		}
		generation = max(generation, of)
	}
	report.Lost = max(0, expected)
	for name, s := range spaces {
		generation = max(generation, s.generation)
		s.reserved += reservedAfterDamage
		key := keyOfNamespace(name)
		if err := batch.Set(key, s.bytes(key)); err != nil {
			return err
		}
	}
	if err := batch.Set([]byte(storeKey), appendNumbers([]byte(storeKey), sequence, generation)); err != nil {
		return err
	}
	if err := batch.Flush(); err != nil {
		return err
	}
	return db.Close()
}
