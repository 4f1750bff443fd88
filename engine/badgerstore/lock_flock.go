//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package badgerstore

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock takes the lock of an open file, which its closing or the end of the process gives back.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return fmt.Errorf("%w: %w", ErrLocked, err)
	}
	return fmt.Errorf("its file system gives no locks, use a directory on another one: %w", err)
}
