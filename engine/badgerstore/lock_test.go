//go:build unix

package badgerstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestNoLock: a file that cannot be locked is not one that another has locked.
func TestNoLock(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := lock(f); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("error %v", err)
	}
}
