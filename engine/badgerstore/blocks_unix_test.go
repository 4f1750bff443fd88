//go:build unix

package badgerstore_test

import (
	"os"
	"syscall"
)

// blocks is what a file takes, without its holes.
func blocks(info os.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
