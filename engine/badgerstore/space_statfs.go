//go:build darwin || freebsd || linux

package badgerstore

import "syscall"

// freeBytes is how much the file system of the directory still takes.
func freeBytes(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
