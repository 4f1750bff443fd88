package badgerstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// Badger writes to its files through memory, and where the disk has no room for a page the system ends the process.
// So a write is only tried where there is room for what it may bring about: another memtable, a table, a compaction.
const (
	roomAlways        = 8 * memTableSize
	roomForCompaction = 64 << 20 // at most; else as much as the tables take
)

// roomFile takes what Close needs to write the last memtable, so that others cannot take it.
const (
	roomFile     = "ROOM"
	roomForClose = 2 * memTableSize
)

// checkRoom fails where the file system does not have so much room.
func (s *Store) checkRoom(dir string, need uint64) error {
	free, err := s.free(dir)
	if err != nil {
		return err
	}
	if free < need {
		return fmt.Errorf("the disk is full: %w", syscall.ENOSPC)
	}
	return nil
}

// takeRoom makes the file of the room for Close.
func takeRoom(dir string) error {
	path := filepath.Join(dir, roomFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err = allocate(f, roomForClose); err != nil {
		// Random bytes, since some systems do not store zeros.
		b := make([]byte, roomForClose)
		rand.NewChaCha8([32]byte{}).Read(b)
		_, err = f.WriteAt(b, 0)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, removeIfThere(path))
	}
	return nil
}
