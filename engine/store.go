package engine

import "errors"

// Store keeps the durable rows of namespaces beyond the process. The engine reads a namespace once, when it is
// first used, and writes each change of a row before the reply to it leaves. Its methods may be called from
// any goroutine, those of one namespace one after the other. MemoryStore is the reference, and package
// storetest has the tests that every Store must pass.
type Store interface {
	// Attach makes the store the caller's own until Detach. While it is another's, the error wraps ErrStoreInUse.
	Attach() error
	// Detach ends what Attach began.
	Detach()
	// Namespaces returns the names that the store knows something of, in any order.
	Namespaces() []string
	// Load calls row with each row of the namespace, in any order, and returns the highest Reserved that was
	// applied to it. An error of row ends it and is returned. The record is valid until row returns.
	Load(namespace string, row func(id RunID, record []byte) error) (reserved uint64, err error)
	// Apply changes rows of the namespace, all of them or, with an error, none.
	Apply(namespace string, c Changes) error
	// Replace makes the given rows those of the namespace, in place of the ones it had, in one step: after an error, or the death of
	// the process before it returns, the namespace has all of its old rows or all of the new ones, and after an error the old ones.
	// count is how many there will be; each calls put once for every one of them, in any order, and returns the first error
	// of put, or its own. Another count is an error. put does not keep the record. Reserved never goes down. each must not use the store otherwise.
	Replace(namespace string, count int, reserved uint64, each func(put func(StoredRow) error) error) error
	// Drop forgets the namespace: its rows and what it reserved.
	Drop(namespace string) error
	// Close frees the store's resources. Whoever opened the store closes it, after the engine.
	Close() error
}

// ErrStoreInUse is wrapped by the error of a second engine that uses a store.
var ErrStoreInUse = errors.New("the store is in use by another fake; close that one first")

// Changes are what one transition of a namespace changes in its rows.
type Changes struct {
	Put      []StoredRow // new or changed rows
	Delete   []RunID     // rows that are gone
	Rows     int         // how many rows the namespace has afterwards
	Reserved uint64      // ids up to this number may be used; never lower than before
}

// StoredRow is a row as a store keeps it. Only the engine reads the record, which has a checksum of its own.
type StoredRow struct {
	Run    RunID
	Record []byte
}
