package canon

import (
	"slices"
	"strconv"
	"strings"
)

// Value is a JSON value as Python sees it: one of [Null], [Bool], [Int],
// [Float], [String], [Array] and [Object]. A nil Value means that there is
// none. Values are shared freely, so nobody may change one.
type Value interface{ isValue() }

// Null is None.
type Null struct{}

// Bool is True or False.
type Bool bool

// Int is an integer as its decimal text without leading zeros, at most 4300
// digits. Zero has no sign: -0 in a document is "0".
type Int string

// Float is a Python float: NaN, the infinities and the negative zero too.
type Float float64

// String is a Python str as WTF-8: UTF-8 in which a lone surrogate, which only
// an escape such as \ud800 can bring in, has its generalized three-byte form.
// The order of its bytes is the order of its code points.
type String string

// Array is a list.
type Array []Value

// Object is a dict: members in insertion order, no name twice.
type Object []Member

// Member is a member of an [Object]. Name is WTF-8, see [String].
type Member struct {
	Name  string
	Value Value
}

func (Null) isValue()   {}
func (Bool) isValue()   {}
func (Int) isValue()    {}
func (Float) isValue()  {}
func (String) isValue() {}
func (Array) isValue()  {}
func (Object) isValue() {}

// Get returns the value of the member that is called name.
func (o Object) Get(name string) (Value, bool) {
	for i := range o {
		if o[i].Name == name {
			return o[i].Value, true
		}
	}
	return nil, false
}

// IntOf returns n as an [Int].
func IntOf(n int64) Int { return Int(strconv.FormatInt(n, 10)) }

// Parse reads one JSON text as json.loads does. The error is a [*SyntaxError].
// The value shares no memory with raw.
func Parse(raw []byte) (Value, error) {
	d := Get()
	defer d.Release()
	if err := d.Parse(raw); err != nil {
		return nil, err
	}
	return d.Root().Value(), nil
}

// Truth is Python's truth value: null, false, 0, 0.0, -0.0, "", [] and {} are
// false, all else is true. A nil Value is false.
func Truth(v Value) bool {
	switch v := v.(type) {
	case Bool:
		return bool(v)
	case Int:
		return v != "0"
	case Float:
		return v != 0
	case String:
		return v != ""
	case Array:
		return len(v) > 0
	case Object:
		return len(v) > 0
	}
	return false
}

// Sorted returns v with the members of every object, at every level, sorted by
// the code points of their names, as sort_keys=True stores them.
func Sorted(v Value) Value {
	switch v := v.(type) {
	case Array:
		sorted := make(Array, len(v))
		for i, item := range v {
			sorted[i] = Sorted(item)
		}
		return sorted
	case Object:
		sorted := make(Object, len(v))
		for i, m := range v {
			sorted[i] = Member{m.Name, Sorted(m.Value)}
		}
		slices.SortStableFunc(sorted, byName)
		return sorted
	}
	return v
}

func byName(a, b Member) int { return strings.Compare(a.Name, b.Name) }
