package badgerstore

import (
	"encoding/binary"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/y"
	"google.golang.org/protobuf/proto"
)

// entry is a version of a key, as Badger's files hold it.
type entry struct {
	key     []byte
	version uint64
	deleted bool
	value   []byte
	damaged bool // its checksum, or that of the block around it, does not match: nothing of it is certain
}

// The bits of an entry's first byte that are used here.
const (
	bitDelete = 1 << 0
	bitTxn    = 1 << 6
	bitFinTxn = 1 << 7
)

// newEntry splits what Badger's files call a key.
func newEntry(key []byte, meta byte, value []byte) (entry, bool) {
	if len(key) <= 8 {
		return entry{}, false
	}
	return entry{key: y.ParseKey(key), version: y.ParseTs(key), deleted: meta&bitDelete != 0, value: value}, true
}

// readTable reads a table of Badger without its help, which panics on a damaged one, or leaves it out. It calls found with
// each entry that can be made out, and returns the first damage.
//
// A table is blocks, then an index of them, the index's length, its checksum, and the checksum's length.
func readTable(file string, b []byte, found func(entry)) *damage {
	rest := b
	cut := func(n uint64) ([]byte, bool) {
		if n > uint64(len(rest)) {
			return nil, false
		}
		last := rest[uint64(len(rest))-n:]
		rest = rest[:uint64(len(rest))-n]
		return last, true
	}
	cutLength := func() (uint64, bool) {
		last, ok := cut(4)
		if !ok {
			return 0, false
		}
		return uint64(binary.BigEndian.Uint32(last)), true
	}
	cutSum := func() (*pb.Checksum, bool) {
		n, ok := cutLength()
		if !ok {
			return nil, false
		}
		text, ok := cut(n)
		sum := &pb.Checksum{}
		return sum, ok && proto.Unmarshal(text, sum) == nil
	}
	sum, ok := cutSum()
	if !ok {
		return &damage{file: file, kind: ErrTruncated, what: "it does not end as a table"}
	}
	n, ok := cutLength()
	if !ok {
		return &damage{file: file, kind: ErrTruncated, what: "it does not end as a table"}
	}
	index, ok := cut(n)
	if !ok {
		return &damage{file: file, kind: ErrTruncated, what: "it has no index"}
	}
	blocks, ok := blocksOf(index)
	var first *damage
	indexed := true
	if !ok || y.VerifyChecksum(index, sum) != nil {
		// Where a block is that has its checksum, the index is right.
		first = &damage{file: file, kind: ErrChecksum, what: "in its index"}
		indexed = false
	}
	for _, at := range blocks {
		switch {
		case at[0] > at[1] || at[1] > uint64(len(b)):
			if first == nil {
				first = &damage{file: file, kind: ErrTruncated}
			}
		case !readBlock(b[at[0]:at[1]], indexed, found) && first == nil:
			first = &damage{file: file, kind: ErrChecksum}
		}
	}
	return first
}

// blocksOf reads where the blocks of a table begin and end, as far as it can. The reader of such indexes panics on what is none,
// which may have the checksum of one: zeros do.
func blocksOf(index []byte) (blocks [][2]uint64, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	table := fb.GetRootAsTableIndex(index, 0)
	for i := range table.OffsetsLength() {
		var at fb.BlockOffset
		table.Offsets(&at, i)
		blocks = append(blocks, [2]uint64{uint64(at.Offset()), uint64(at.Offset()) + uint64(at.Len())})
	}
	return blocks, len(blocks) > 0
}

// readBlock calls found with each entry of a block, and reports whether all of it is sound. One that is not is only read if it is known
// to be a block.
//
// A block is entries, where they begin, how many they are, a checksum over all of this, and the checksum's length.
func readBlock(b []byte, known bool, found func(entry)) bool {
	if len(b) < 4 {
		return false
	}
	n := uint64(binary.BigEndian.Uint32(b[len(b)-4:]))
	b = b[:len(b)-4]
	if n > uint64(len(b)) {
		return false
	}
	sum := &pb.Checksum{}
	sound := proto.Unmarshal(b[uint64(len(b))-n:], sum) == nil
	b = b[:uint64(len(b))-n]
	sound = sound && y.VerifyChecksum(b, sum) == nil
	if !sound && !known {
		return false
	}
	damaged := !sound
	if len(b) < 4 {
		return false
	}
	n = uint64(binary.BigEndian.Uint32(b[len(b)-4:]))
	b = b[:len(b)-4]
	if 4*n > uint64(len(b)) {
		return false
	}
	begins := b[uint64(len(b))-4*n:]
	b = b[:uint64(len(b))-4*n]
	begin := func(i int) uint64 {
		if 4*i == len(begins) {
			return uint64(len(b))
		}
		return uint64(binary.NativeEndian.Uint32(begins[4*i:]))
	}
	// A key is what it has in common with the first one, then the rest.
	var base []byte
	for i := range int(n) {
		from, to := begin(i), begin(i+1)
		if from > to || to > uint64(len(b)) || to-from < 4 {
			sound = false
			continue
		}
		e := b[from:to]
		overlap, length := int(binary.NativeEndian.Uint16(e)), int(binary.NativeEndian.Uint16(e[2:]))
		if e = e[4:]; overlap > len(base) || length > len(e) {
			sound = false
			continue
		}
		key := append(base[:overlap:overlap], e[:length]...)
		if i == 0 {
			base = key
		}
		e = e[length:]
		if len(e) < 3 {
			sound = false
			continue
		}
		meta := e[0]
		_, n := binary.Uvarint(e[2:]) // when it expires: never
		if n <= 0 {
			sound = false
			continue
		}
		if whole, ok := newEntry(key, meta, e[2+n:]); ok {
			whole.damaged = damaged
			found(whole)
		} else {
			sound = false
		}
	}
	return sound
}
