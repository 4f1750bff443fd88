package badgerstore

import (
	"os"
	"syscall"
)

// allocate takes room for a file without writing to it. Not every file system can.
func allocate(f *os.File, size int64) error {
	return syscall.Fallocate(int(f.Fd()), 0, 0, size)
}
