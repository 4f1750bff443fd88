package canon

import (
	"bytes"
	"hash"
	"math"
	"sync"
)

// Document is a parsed JSON text that is used in place: it refers to the bytes
// it was parsed from, so those must not change while it, or a [Node] of it, is
// in use. Parsing again reuses its memory and invalidates its nodes. The zero
// Document is ready for use, by one goroutine at a time.
type Document struct {
	raw   []byte
	nodes []node  // every value and name, in the order of the text
	names []byte  // the member names that have escapes, decoded
	order []entry // members of the objects that are being put in order
	out   []byte  // canonical text that was not hashed yet
	hash  hash.Hash
	sum   [32]byte
}

// node is a value or a member's name. A member is its name followed by its
// value; a container is followed by what it holds.
//
// With more than four fields the compiler would copy nodes through the stack,
// which costs more than all the rest of appending one.
type node struct {
	// Where the text starts and ends, a string's with its quotes. A container
	// has instead the number of its items, or of its members including
	// duplicates, and the index of the node behind it; while it is open the
	// latter is that of its parent.
	start, end uint32

	kind  Kind
	flags uint8
}

const (
	escaped  = 1 << iota // the text of this string has escapes
	rewrite              // the text is not its own canonical form
	inNames              // the text stands in names, decoded and without quotes
	trueBool             // this bool is true
)

// Kind is the kind of a [Node]'s value. The zero Kind is KindNull.
type Kind uint8

// The kinds are named for the [Value] types.
const (
	KindNull Kind = iota
	KindBool
	KindInt
	KindFloat
	KindString
	KindArray
	KindObject
)

var documents = sync.Pool{New: func() any { return new(Document) }}

// maxPooled is how many bytes of scratch memory a released Document may keep.
const maxPooled = 1 << 20

// Get returns a Document from a pool. Give it back with [Document.Release].
func Get() *Document { return documents.Get().(*Document) }

// Release gives d back to the pool. Neither d nor a [Node] of it may be used
// afterwards. It may be called on any Document, once.
func (d *Document) Release() {
	const nodeSize, entrySize = 12, 16
	if cap(d.nodes)*nodeSize+cap(d.order)*entrySize+cap(d.names)+cap(d.out) > maxPooled {
		return
	}
	d.raw = nil
	d.nodes = d.nodes[:0]
	documents.Put(d)
}

// Root returns the value of the document, the zero Node when nothing has been
// parsed or the last text was not JSON.
func (d *Document) Root() Node {
	if len(d.nodes) == 0 {
		return Node{}
	}
	return Node{d, 0}
}

// Parse reads one JSON text as json.loads does. The error is a [*SyntaxError].
func (d *Document) Parse(raw []byte) error {
	d.raw, d.nodes, d.names = raw, d.nodes[:0], d.names[:0]
	var err *SyntaxError
	if uint64(len(raw)) >= math.MaxUint32 {
		err = syntaxError(0, "the document has 4 GiB or more")
	} else {
		err = d.parse()
	}
	if err != nil {
		d.raw, d.nodes = nil, d.nodes[:0]
		return err
	}
	return nil
}

// count returns how many items a container has, or members including
// duplicates, and 0 for everything else.
func (n *node) count() int {
	if n.kind < KindArray {
		return 0
	}
	return int(n.start)
}

// text returns the bytes of a number or, without quotes, of a string or name:
// a name's decoded, a string's as they stand in the document.
func (d *Document) text(n *node) []byte {
	switch {
	case n.flags&inNames != 0:
		return d.names[n.start:n.end]
	case n.kind == KindString:
		return d.raw[n.start+1 : n.end-1]
	}
	return d.raw[n.start:n.end]
}

// next returns the index of the node that follows the value at i and all that
// it holds.
func (d *Document) next(i uint32) uint32 {
	if n := &d.nodes[i]; n.kind >= KindArray {
		return n.end
	}
	return i + 1
}

// compareNames orders the names at a and b by code point.
func (d *Document) compareNames(a, b uint32) int {
	return bytes.Compare(d.text(&d.nodes[a]), d.text(&d.nodes[b]))
}
