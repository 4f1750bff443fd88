//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package badgerstore

import (
	"os"
	"syscall"
)

// lock takes the lock of an open file, which its closing or the end of the process gives back.
func lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
