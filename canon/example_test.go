package canon_test

import (
	"fmt"

	"github.com/hermesfake/hermesfake/canon"
)

func ExampleParse() {
	v, err := canon.Parse([]byte(`{"n": 1, "f": 1e0, "n": 12345678901234567890, "s": "\u00e9/\ud83d"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", canon.AppendWire(nil, v))
	// Output: {"n": 12345678901234567890, "f": 1.0, "s": "\u00e9/\ud83d"}
}

func ExampleFingerprint() {
	a, _ := canon.Fingerprint([]byte(`{"input": "x", "n": 1.0}`), "")
	b, _ := canon.Fingerprint([]byte(`{"n":10e-1,"input":"\u0078"}`), "")
	c, _ := canon.Fingerprint([]byte(`{"input": "x", "n": 1}`), "")
	fmt.Println(a == b, a == c)
	// Output: true false
}

func ExampleDocument() {
	d := canon.Get()
	defer d.Release()
	if err := d.Parse([]byte(`{"input": [{"role": "user", "content": "hello"}]}`)); err != nil {
		fmt.Println(err)
		return
	}
	input, _ := d.Root().Member("input")
	last, _ := input.Last()
	content, _ := last.Member("content")
	fmt.Println(content.True(), content.Text())
	// Output: true hello
}
