package canon

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// entry is a member while the members of its object are put in order.
type entry struct {
	prefix uint64 // the first eight bytes of the name, as a big-endian number
	name   uint32 // the name's node
	value  uint32 // the value's node
}

// smallObject is up to how many members insertion is the quicker way to sort.
const smallObject = 16

// pushMembers appends the members of the object at i to d.order, sorted by
// name. Of several members of one name there is one entry with the first one's
// name and the last one's value. It returns where they start; who is done with
// them cuts d.order there.
func (d *Document) pushMembers(i uint32) int {
	var (
		nodes = d.nodes
		order = d.order
		start = len(order)
		small = nodes[i].count() <= smallObject
		equal = false // some names may be equal
	)
	for child := i + 1; child < nodes[i].end; child = d.next(child + 1) {
		m := entry{d.prefix(&nodes[child]), child, child + 1}
		order = append(order, m)
		if !small {
			continue
		}
		j := len(order) - 1
		for ; j > start; j-- {
			before := order[j-1]
			if before.prefix < m.prefix {
				break
			}
			if before.prefix == m.prefix {
				c := d.compareNames(before.name, child)
				equal = equal || c == 0
				if c <= 0 {
					break
				}
			}
			order[j] = before
		}
		order[j] = m
	}
	d.order = order
	members := order[start:]
	if !small {
		slices.SortFunc(members, d.compareEntries)
		equal = true
	}
	if equal {
		d.order = order[:start+d.mergeEqual(members)]
	}
	return start
}

// mergeEqual leaves one entry of each run of members of one name and returns
// how many there are.
func (d *Document) mergeEqual(members []entry) int {
	kept := 0
	for _, m := range members {
		if kept > 0 && d.compareNames(members[kept-1].name, m.name) == 0 {
			members[kept-1].value = m.value
			continue
		}
		members[kept] = m
		kept++
	}
	return kept
}

// prefix returns the first eight bytes of a name, filled up with zeros, as a
// number that orders as they do.
func (d *Document) prefix(name *node) uint64 {
	start := int(name.start) + 1
	if name.flags != 0 || start+8 > len(d.raw) {
		return d.slowPrefix(name)
	}
	unused := max(0, 8-(int(name.end)-1-start))
	return binary.BigEndian.Uint64(d.raw[start:]) >> (8 * unused) << (8 * unused)
}

// slowPrefix is prefix for a name that has fewer than eight bytes of the
// document before it ends, or that is not in the document.
func (d *Document) slowPrefix(name *node) uint64 {
	var first [8]byte
	copy(first[:], d.text(name))
	return binary.BigEndian.Uint64(first[:])
}

func (d *Document) compareEntries(a, b entry) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	if c := d.compareNames(a.name, b.name); c != 0 {
		return c
	}
	return cmp.Compare(a.name, b.name)
}
