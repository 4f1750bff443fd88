package badgerstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// there fails where the directory of the rows is not the one that was opened.
func (s *Store) there() error {
	info, err := os.Stat(s.dir)
	if err != nil {
		return fmt.Errorf("the directory was removed under the open store: %w", err)
	}
	if !os.SameFile(info, s.identity) {
		return errors.New("another directory has taken the place of the open store's: its files are lost")
	}
	return nil
}

// closeGone closes a database whose directory is gone. Badger would try to write its last table for ever, so it gets a directory
// for that. Where another one has taken the place, that one must not have it: what Badger holds ends with the process.
func (s *Store) closeGone() error {
	var made []string
	for dir := s.dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		made = append(made, dir)
	}
	if len(made) == 0 {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	err := s.db.Close()
	os.RemoveAll(s.dir)
	for _, dir := range made[1:] {
		os.Remove(dir) // unless others have put something there
	}
	return err
}
