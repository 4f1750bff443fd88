//go:build !unix

package badgerstore

// syncDir does nothing: directories cannot be synced here.
func syncDir(string) error { return nil }
