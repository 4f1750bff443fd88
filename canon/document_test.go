package canon

import (
	"crypto/sha256"
	"strings"
	"testing"
)

// checkDocument checks a Document of raw, which parses as v, against v.
func checkDocument(t *testing.T, raw []byte, v Value) {
	t.Helper()
	var d Document
	if err := d.Parse(raw); err != nil {
		t.Errorf("Document.Parse(%.80q): %v", raw, err)
		return
	}
	checkNode(t, d.Root(), v)
	const key = "k\u00e9y \"\n"
	text, err := AppendCanonical(nil, Object{{"gateway_session_key", String(key)}, {"body", v}})
	sum, docErr := d.Fingerprint(key)
	if err != docErr || err == nil && sum != sha256.Sum256(text) {
		t.Errorf("Document.Fingerprint of %.80q = %x, %v; its canonical form is %.80q, %v", raw, sum, docErr, text, err)
	}
}

// checkNode checks everything that n tells about its value, which is v.
func checkNode(t *testing.T, n Node, v Value) {
	t.Helper()
	wire := AppendWire(nil, v)
	if got := AppendWire(nil, n.Value()); string(got) != string(wire) {
		t.Errorf("Node.Value is %.80s, want %.80s", got, wire)
		return
	}
	if n.True() != Truth(v) {
		t.Errorf("Node.True of %.80s is %t", wire, n.True())
	}
	kind, length, text := KindNull, 0, ""
	switch v := v.(type) {
	case Bool:
		kind = KindBool
	case Int:
		kind = KindInt
	case Float:
		kind = KindFloat
	case String:
		kind, text = KindString, string(v)
	case Array:
		kind, length = KindArray, len(v)
	case Object:
		kind, length = KindObject, len(v)
	}
	if n.Kind() != kind || n.Len() != length || n.Text() != text {
		t.Errorf("Node of %.80s: Kind %d, Len %d, Text %.80q", wire, n.Kind(), n.Len(), n.Text())
	}
	array, _ := v.(Array)
	count := 0
	var lastItem Node
	for i, item := range n.Items {
		if i != count {
			t.Errorf("Node.Items of %.80s: index %d, want %d", wire, i, count)
		}
		checkNode(t, item, array[i])
		lastItem = item
		count++
	}
	if count != len(array) {
		t.Errorf("Node.Items of %.80s: %d items", wire, count)
	}
	if last, ok := n.Last(); ok != (len(array) > 0) || last != lastItem {
		t.Errorf("Node.Last of %.80s: %v, %t", wire, last.Value(), ok)
	}
	object, _ := v.(Object)
	for _, m := range object {
		if member, ok := n.Member(m.Name); !ok {
			t.Errorf("Node of %.80s has no member %q", wire, m.Name)
		} else {
			checkNode(t, member, m.Value)
		}
	}
	if _, ok := n.Member("no such member"); ok {
		t.Errorf("Node of %.80s has a member that it has not", wire)
	}
}

func TestNodes(t *testing.T) {
	for _, tc := range wireTests {
		v, err := Parse([]byte(tc.raw))
		if err != nil {
			t.Errorf("Parse(%q): %v", tc.raw, err)
			continue
		}
		checkDocument(t, []byte(tc.raw), v)
	}
}

func TestNodeMember(t *testing.T) {
	var d Document
	raw := `{"a": [1, {"x": 2}], "n\u0061me": "first", "b": {"a": 3}, "name": "last\n", "\ud800": 4}`
	if err := d.Parse([]byte(raw)); err != nil {
		t.Fatal(err)
	}
	root := d.Root()
	if n, ok := root.Member("name"); !ok || n.Text() != "last\n" {
		t.Errorf("Member(name) = %q, %t", n.Text(), ok)
	}
	if n, ok := root.Member("\xed\xa0\x80"); !ok || n.Value() != Int("4") {
		t.Errorf("the member that is a lone surrogate: %v, %t", n.Value(), ok)
	}
	if n, ok := root.Member("x"); ok {
		t.Errorf("Member(x) finds one of an inner object: %v", n.Value())
	}
	if got := root.Len(); got != 4 {
		t.Errorf("Len = %d, want 4", got)
	}
	a, _ := root.Member("a")
	if last, ok := a.Last(); !ok || last.Kind() != KindObject {
		t.Errorf("Last of %s is of kind %d, %t", AppendWire(nil, a.Value()), last.Kind(), ok)
	}
	for i, item := range a.Items {
		if i > 0 {
			t.Errorf("Items goes on after break: %v", item.Value())
		}
		break
	}
}

func TestZeroNode(t *testing.T) {
	var d Document
	if _, err := d.Fingerprint(""); err != ErrInvalid {
		t.Errorf("Fingerprint of nothing: %v, want ErrInvalid", err)
	}
	invalid := d
	if err := invalid.Parse([]byte(`[1,2`)); err == nil {
		t.Error("Parse accepts an array without end")
	}
	if _, err := invalid.Fingerprint(""); err != ErrInvalid {
		t.Errorf("Fingerprint of invalid JSON: %v, want ErrInvalid", err)
	}
	for _, n := range []Node{{}, d.Root(), invalid.Root()} {
		_, last := n.Last()
		_, member := n.Member("a")
		if n.Kind() != KindNull || n.True() || n.Len() != 0 || n.Text() != "" || n.Value() != nil || last || member {
			t.Errorf("the zero Node is of kind %d with value %v", n.Kind(), n.Value())
		}
	}
}

// A Document that is used again must have forgotten all of the text before,
// and what was taken from it must not change.
func TestDocumentReuse(t *testing.T) {
	var d Document
	raws := []string{
		`{"b\n":[1,2,{"c":"\u00e9","c":"x"}],"a":"a longer text that is its own canonical form"}`,
		`[1`, `[]`, `{"\u0061":"\ud800"}`, `"x"`, `{"z":1,"y":{"x":[{}]}}`,
	}
	var values []Value
	var want []string
	buf := make([]byte, 200)
	for range 3 {
		for _, raw := range raws {
			v, err := Parse([]byte(raw))
			n := copy(buf, raw)
			if docErr := d.Parse(buf[:n]); (docErr == nil) != (err == nil) {
				t.Fatalf("Document.Parse(%s): %v, Parse: %v", raw, docErr, err)
			} else if err != nil {
				continue
			}
			sum, err := d.Fingerprint("k")
			wantSum, wantErr := Fingerprint([]byte(raw), "k")
			if sum != wantSum || err != wantErr {
				t.Errorf("Document.Fingerprint of %s: %x, %v, want %x, %v", raw, sum, err, wantSum, wantErr)
			}
			values = append(values, d.Root().Value())
			want = append(want, string(AppendWire(nil, v)))
			clear(buf)
		}
	}
	for i, v := range values {
		if got := string(AppendWire(nil, v)); got != want[i] {
			t.Errorf("a value has become %s, was %s", got, want[i])
		}
	}
}

func TestRelease(t *testing.T) {
	d := Get()
	if err := d.Parse([]byte(`[1, 2, 3]`)); err != nil {
		t.Fatal(err)
	}
	d.Release()
	if d.raw != nil || len(d.nodes) != 0 {
		t.Error("a released Document still refers to its text")
	}
	large := new(Document)
	if err := large.Parse([]byte("[" + strings.Repeat("1,", maxPooled/12) + "1]")); err != nil {
		t.Fatal(err)
	}
	large.Release()
	for range 100 {
		if Get() == large {
			t.Fatal("a Document with more than 1 MiB of scratch memory was kept")
		}
	}
}
