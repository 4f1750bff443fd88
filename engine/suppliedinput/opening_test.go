package suppliedinput_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

func inputs(n int) (list []suppliedinput.InputParent) {
	for i := range n {
		list = append(list, inputOf(fmt.Sprint("m", i)))
	}
	return list
}

func sources(n int) (list []suppliedinput.SourceParent) {
	for i := range n {
		list = append(list, suppliedinput.SourceParent{SourceID: fmt.Sprint("s", i), SourceVersion: 1})
	}
	return list
}

// TestOpeningBounds: each bound from both sides. The letters are of two and of three bytes, so that bytes would count
// otherwise.
func TestOpeningBounds(t *testing.T) {
	hash := func(digits string) []suppliedinput.InputParent {
		return []suppliedinput.InputParent{{SourceID: "m", InputMessageHash: digits}}
	}
	source := func(id string, version int64) []suppliedinput.SourceParent {
		return []suppliedinput.SourceParent{{SourceID: id, SourceVersion: version}}
	}
	query := func(text string) *string { return &text }
	transport := func(platform string, recall *string) func(*suppliedinput.Opening) {
		return func(o *suppliedinput.Opening) {
			o.SessionID, o.Transport, o.Platform, o.RecallQuery = "", true, platform, recall
		}
	}
	for _, c := range []struct {
		name   string
		valid  bool
		change func(*suppliedinput.Opening)
	}{
		{"as it is", true, func(*suppliedinput.Opening) {}},
		{"contact of 0", false, func(o *suppliedinput.Opening) { o.ContactID = "" }},
		{"contact of 1", true, func(o *suppliedinput.Opening) { o.ContactID = "é" }},
		{"contact of 256", true, func(o *suppliedinput.Opening) { o.ContactID = strings.Repeat("é", 256) }},
		{"contact of 257", false, func(o *suppliedinput.Opening) { o.ContactID = strings.Repeat("é", 257) }},
		{"contact that is not Unicode", false, func(o *suppliedinput.Opening) { o.ContactID = "\xff" }},
		{"session of 0", false, func(o *suppliedinput.Opening) { o.SessionID = "" }},
		{"session of 256", true, func(o *suppliedinput.Opening) { o.SessionID = strings.Repeat("語", 256) }},
		{"session of 257", false, func(o *suppliedinput.Opening) { o.SessionID = strings.Repeat("語", 257) }},
		{"0 inputs", false, func(o *suppliedinput.Opening) { o.Inputs = nil }},
		{"1 input", true, func(o *suppliedinput.Opening) { o.Inputs = inputs(1) }},
		{"64 inputs", true, func(o *suppliedinput.Opening) { o.Inputs = inputs(64) }},
		{"65 inputs", false, func(o *suppliedinput.Opening) { o.Inputs = inputs(65) }},
		{"65 inputs, two of them equal", false, func(o *suppliedinput.Opening) { o.Inputs = append(inputs(64), inputs(1)...) }},
		{"0 sources", true, func(o *suppliedinput.Opening) { o.Sources = nil }},
		{"1 source", true, func(o *suppliedinput.Opening) { o.Sources = sources(1) }},
		{"64 sources", true, func(o *suppliedinput.Opening) { o.Sources = sources(64) }},
		{"65 sources", false, func(o *suppliedinput.Opening) { o.Sources = sources(65) }},
		{"hash of 0", false, func(o *suppliedinput.Opening) { o.Inputs = hash("") }},
		{"hash of 63", false, func(o *suppliedinput.Opening) { o.Inputs = hash(strings.Repeat("a", 63)) }},
		{"hash of 64", true, func(o *suppliedinput.Opening) { o.Inputs = hash(strings.Repeat("0af9", 16)) }},
		{"hash of 65", false, func(o *suppliedinput.Opening) { o.Inputs = hash(strings.Repeat("a", 65)) }},
		{"hash in upper case", false, func(o *suppliedinput.Opening) { o.Inputs = hash(strings.Repeat("A", 64)) }},
		{"hash with a g", false, func(o *suppliedinput.Opening) { o.Inputs = hash(strings.Repeat("a", 63) + "g") }},
		{"hash with another digit", false, func(o *suppliedinput.Opening) { o.Inputs = hash(strings.Repeat("a", 62) + "é") }},
		{"input id of 0", false, func(o *suppliedinput.Opening) { o.Inputs[0].SourceID = "" }},
		{"input id of 256", true, func(o *suppliedinput.Opening) { o.Inputs[0].SourceID = strings.Repeat("é", 256) }},
		{"input id of 257", false, func(o *suppliedinput.Opening) { o.Inputs[0].SourceID = strings.Repeat("é", 257) }},
		{"source id of 0", false, func(o *suppliedinput.Opening) { o.Sources = source("", 1) }},
		{"source id of 256", true, func(o *suppliedinput.Opening) { o.Sources = source(strings.Repeat("é", 256), 1) }},
		{"source id of 257", false, func(o *suppliedinput.Opening) { o.Sources = source(strings.Repeat("é", 257), 1) }},
		{"version 0", false, func(o *suppliedinput.Opening) { o.Sources = source("s", 0) }},
		{"version -1", false, func(o *suppliedinput.Opening) { o.Sources = source("s", -1) }},
		{"platform with a session", false, func(o *suppliedinput.Opening) { o.Platform = "chat" }},
		{"recall query with a session", false, func(o *suppliedinput.Opening) { o.RecallQuery = query("x") }},
		{"platform of 0", false, transport("", nil)},
		{"platform of 1", true, transport("é", nil)},
		{"platform of 64", true, transport(strings.Repeat("é", 64), nil)},
		{"platform of 65", false, transport(strings.Repeat("é", 65), nil)},
		{"recall query of 0", false, transport("chat", query(""))},
		{"recall query of 1", true, transport("chat", query("é"))},
		{"recall query of 32768", true, transport("chat", query(strings.Repeat("語", 32_768)))},
		{"recall query of 32769", false, transport("chat", query(strings.Repeat("語", 32_769)))},
		{"session with a platform", false, func(o *suppliedinput.Opening) { o.Transport, o.Platform = true, "chat" }},
	} {
		w := newWorld(t, nil)
		o := opening()
		c.change(&o)
		_, err := w.Open(o)
		if c.valid != (err == nil) || err != nil && !errors.Is(err, suppliedinput.ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
		if n := len(w.Scopes()); (n == 1) != c.valid {
			t.Errorf("%s: %d scopes are open", c.name, n)
		}
	}
}

// TestDuplicatesAreFolded, in the order of the first ones; the host's own lists stay as they are.
func TestDuplicatesAreFolded(t *testing.T) {
	w := newWorld(t, nil)
	a, b, c := inputOf("a"), inputOf("b"), inputOf("a")
	c.InputMessageHash = strings.Repeat("0", 64) // another message with the same id
	given := []suppliedinput.InputParent{b, a, b, c, a}
	o := suppliedinput.Opening{ContactID: "anna", SessionID: "root", Inputs: given,
		Sources: []suppliedinput.SourceParent{{SourceID: "s", SourceVersion: 2}, {SourceID: "s", SourceVersion: 1}, {SourceID: "s", SourceVersion: 2}}}
	s, err := w.Scope(w.open(o))
	if err != nil {
		t.Fatal(err)
	}
	if want := []suppliedinput.InputParent{b, a, c}; !slices.Equal(s.Inputs, want) {
		t.Errorf("inputs %v, want %v", s.Inputs, want)
	}
	if want := []suppliedinput.SourceParent{{SourceID: "s", SourceVersion: 2}, {SourceID: "s", SourceVersion: 1}}; !slices.Equal(s.Sources, want) {
		t.Errorf("sources %v, want %v", s.Sources, want)
	}
	if !slices.Equal(given, []suppliedinput.InputParent{b, a, b, c, a}) {
		t.Errorf("the host's list is %v", given)
	}
}

// TestErrorsShowNoText: what a host wrote is in no message.
func TestErrorsShowNoText(t *testing.T) {
	w := newWorld(t, nil)
	secret := strings.Repeat("secret", 100)
	for _, change := range []func(*suppliedinput.Opening){
		func(o *suppliedinput.Opening) { o.ContactID = secret },
		func(o *suppliedinput.Opening) { o.SessionID = secret },
		func(o *suppliedinput.Opening) { o.Inputs[0].SourceID = secret },
		func(o *suppliedinput.Opening) { o.Inputs[0].InputMessageHash = secret },
		func(o *suppliedinput.Opening) { o.Sources[0].SourceID = secret },
		func(o *suppliedinput.Opening) { o.SessionID, o.Transport, o.Platform = "", true, secret },
	} {
		o := opening()
		change(&o)
		if _, err := w.Open(o); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v", err)
		}
	}
}
