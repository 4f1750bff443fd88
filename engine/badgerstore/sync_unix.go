//go:build unix

package badgerstore

import (
	"errors"
	"os"
)

// syncDir waits until the disk has the entries of a directory.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
