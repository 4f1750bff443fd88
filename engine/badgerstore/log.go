package badgerstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
)

// logHead is how a log begins: the number of a key for encryption, which is 0, and an initialization vector.
const logHead = 20

// Beyond any key and value.
const (
	maxLogKey   = 1 << 16
	maxLogValue = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readLog reads the log of a memtable without Badger, which would shorten it to where it cannot go on. It calls
// found with each entry of a whole transaction and returns where and why it ended, nil at the end of what was written.
//
// An entry is a header of meta, user meta and three varints (length of the key, of the value, when it expires), the key,
// the value, and a CRC. The last one of a transaction is marked, and has its version as a value. What was not
// written yet is zero. With skip, an entry whose checksum does not match does not end it.
func readLog(file string, b []byte, skip bool, found func(entry)) *damage {
	switch {
	case len(b) < logHead:
		return &damage{file: file, kind: ErrTruncated}
	case !logBegins(b):
		return &damage{file: file, kind: ErrChecksum, what: "it does not begin as a log"}
	}
	var transaction []entry
	var first *damage
	ends := func(d *damage) *damage {
		if first == nil {
			return d
		}
		return first
	}
	for at := logHead; ; {
		rest := b[at:]
		if allZero(rest, 32) {
			return ends(nil)
		}
		bad := &damage{file: file, kind: ErrChecksum, what: fmt.Sprintf("at byte %d", at)}
		short := &damage{file: file, kind: ErrTruncated, what: fmt.Sprintf("in the entry at byte %d", at)}
		if len(rest) < 5 {
			return ends(short)
		}
		meta, n := rest[0], 2
		var lengths [3]uint64
		for i := range lengths {
			v, size := binary.Uvarint(rest[n:])
			if size <= 0 {
				if size == 0 {
					return ends(short)
				}
				return ends(bad)
			}
			lengths[i] = v
			n += size
		}
		if lengths[0] > maxLogKey || lengths[1] > maxLogValue {
			return ends(bad)
		}
		whole := n + int(lengths[0]+lengths[1]) + crc32.Size
		if whole > len(rest) {
			return ends(short)
		}
		key, value := rest[n:n+int(lengths[0])], rest[n+int(lengths[0]):whole-crc32.Size]
		at += whole
		if crc32.Checksum(rest[:whole-crc32.Size], castagnoli) != binary.BigEndian.Uint32(rest[whole-crc32.Size:whole]) {
			if first == nil {
				first = bad
			}
			if !skip {
				return first
			}
			if e, ok := newEntry(key, meta, value); ok {
				e.damaged = true
				found(e)
			}
			continue
		}
		e, ok := newEntry(key, meta, value)
		switch {
		case !ok:
			return ends(bad)
		case meta&bitTxn != 0:
			if len(transaction) > 0 && transaction[0].version != e.version {
				if !skip {
					return ends(bad)
				}
				// The mark of its end was left out.
				for _, e := range transaction {
					found(e)
				}
				transaction = nil
			}
			transaction = append(transaction, e)
		case meta&bitFinTxn != 0:
			if version, err := strconv.ParseUint(string(value), 10, 64); err != nil ||
				len(transaction) > 0 && transaction[0].version != version {
				return ends(bad)
			}
			for _, e := range transaction {
				found(e)
			}
			transaction = nil
		default:
			found(e)
		}
	}
}

// logBegins reports whether b begins as a log. Badger does not open one that does not.
func logBegins(b []byte) bool { return len(b) >= logHead && allZero(b, 8) }

// allZero reports whether b begins with so many zeros, or has nothing else.
func allZero(b []byte, n int) bool {
	for _, c := range b[:min(n, len(b))] {
		if c != 0 {
			return false
		}
	}
	return true
}
