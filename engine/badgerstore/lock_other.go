//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package badgerstore

import "os"

// lock does nothing: Badger's own lock of its directory has to do.
func lock(*os.File) error { return nil }
