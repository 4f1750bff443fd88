package canon

import (
	"cmp"
	"slices"
)

// Node is a value in a [Document]. The zero Node stands for no value: it
// behaves as null, and its Value is nil.
type Node struct {
	d *Document
	i uint32
}

// none is what the zero Node refers to. Nobody writes to it.
var none node

func (n Node) node() *node {
	if n.d == nil {
		return &none
	}
	return &n.d.nodes[n.i]
}

// Kind returns what kind of value n is.
func (n Node) Kind() Kind { return n.node().kind }

// True is Python's truth value, see [Truth].
func (n Node) True() bool {
	t := n.node()
	switch t.kind {
	case KindBool:
		return t.flags&trueBool != 0
	case KindInt:
		return string(n.d.text(t)) != "0"
	case KindFloat:
		return parseFloat(n.d.text(t)) != 0
	case KindString:
		return len(n.d.text(t)) > 0
	}
	return t.count() > 0
}

// Len returns the number of an array's items or of an object's members, where
// members of one name count once. It is 0 for everything else.
func (n Node) Len() int {
	t := n.node()
	if t.kind == KindObject && t.count() > 1 {
		start := n.d.pushMembers(n.i)
		distinct := len(n.d.order) - start
		n.d.order = n.d.order[:start]
		return distinct
	}
	return t.count()
}

// Member returns the value of the member that is called name, the last one if
// there are several. There is none in what is not an object.
func (n Node) Member(name string) (Node, bool) {
	t := n.node()
	if t.kind != KindObject {
		return Node{}, false
	}
	var found Node
	child := n.i + 1
	for range t.count() {
		if string(n.d.text(&n.d.nodes[child])) == name {
			found = Node{n.d, child + 1}
		}
		child = n.d.next(child + 1)
	}
	return found, found.d != nil
}

// Items calls yield with the index and value of each item of an array, in
// order, until it returns false. What is not an array has no items.
func (n Node) Items(yield func(int, Node) bool) {
	t := n.node()
	if t.kind != KindArray {
		return
	}
	child := n.i + 1
	for i := range t.count() {
		if !yield(i, Node{n.d, child}) {
			return
		}
		child = n.d.next(child)
	}
}

// Last returns the last item of an array.
func (n Node) Last() (Node, bool) {
	var last Node
	for _, item := range n.Items {
		last = item
	}
	return last, last.d != nil
}

// Text returns the text of a string as WTF-8, see [String], and "" for
// everything else. The result owns its memory.
func (n Node) Text() string {
	t := n.node()
	if t.kind != KindString {
		return ""
	}
	return n.d.decoded(t)
}

// decoded returns the text of a string or name.
func (d *Document) decoded(t *node) string {
	text := d.text(t)
	if t.flags&escaped == 0 {
		return string(text)
	}
	return string(appendDecoded(make([]byte, 0, len(text)), text))
}

// Value returns a copy of the value that shares no memory with the document.
func (n Node) Value() Value {
	if n.d == nil {
		return nil
	}
	t := n.node()
	switch t.kind {
	case KindBool:
		return Bool(t.flags&trueBool != 0)
	case KindInt:
		return Int(n.d.text(t))
	case KindFloat:
		return Float(parseFloat(n.d.text(t)))
	case KindString:
		return String(n.d.decoded(t))
	case KindArray:
		array := make(Array, 0, t.count())
		for _, item := range n.Items {
			array = append(array, item.Value())
		}
		return array
	case KindObject:
		return n.object()
	}
	return Null{}
}

func (n Node) object() Object {
	d := n.d
	start := d.pushMembers(n.i)
	end := len(d.order)
	slices.SortFunc(d.order[start:end], func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	object := make(Object, 0, end-start)
	for i := start; i < end; i++ {
		m := d.order[i]
		object = append(object, Member{d.decoded(&d.nodes[m.name]), Node{d, m.value}.Value()})
	}
	d.order = d.order[:start]
	return object
}
