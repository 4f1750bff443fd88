package badgerstore

import (
	"errors"
	"fmt"
)

// Errors of Open, for errors.Is. Where it fails, nothing in the directory has changed.
var (
	// ErrDamaged: the files are not as they were left. One of ErrChecksum, ErrTruncated and ErrMissing says how.
	ErrDamaged = errors.New("the store is damaged")
	// ErrChecksum: bytes are not those that were written.
	ErrChecksum = errors.New("a checksum does not match")
	// ErrTruncated: a file is shorter than it was.
	ErrTruncated = errors.New("cut short")
	// ErrMissing: a file is not there.
	ErrMissing = errors.New("missing")
	// ErrNewer: a later version of hermesfake wrote the directory.
	ErrNewer = errors.New("a newer version of hermesfake wrote this directory; use that one, or another directory")
	// ErrLocked: another store, of this process or of another one, has the directory open.
	ErrLocked = errors.New("the directory is in use by another store; close that one first")
	// ErrUnwritable: the directory cannot be made or written to.
	ErrUnwritable = errors.New("the directory cannot be written to; make it writable, or use another one")
)

// ErrClosed is the error of a store that was closed.
var ErrClosed = errors.New("the store is closed; open it again, and close the fake first")

// damage is one thing that is wrong with a file.
type damage struct {
	file string
	kind error // ErrChecksum, ErrTruncated or ErrMissing
	what string
}

func (d *damage) Error() string {
	text := fmt.Sprintf("%v: %s: %v", ErrDamaged, d.file, d.kind)
	if d.what != "" {
		text += ": " + d.what
	}
	return text + "; open it with WithRecover to keep what is sound, or delete the directory"
}

func (d *damage) Unwrap() []error { return []error{ErrDamaged, d.kind} }
