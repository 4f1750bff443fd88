package suppliedinput_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake/engine/suppliedinput"
)

// TestHandles: a source is opened by the exact block, where the host appended it, once it has reached the model.
func TestHandles(t *testing.T) {
	for _, c := range []struct {
		name   string
		texts  func(block, other string) []string
		opened string // sources
	}{
		{"no block", func(string, string) []string { return []string{"do it"} }, ""},
		{"behind the input", func(b, _ string) []string { return []string{"do it\n\n" + b} }, "s"},
		{"behind the instructions", func(b, _ string) []string { return []string{"do it", "be kind\n" + b + "\n"} }, "s"},
		{"alone", func(b, _ string) []string { return []string{b} }, "s"},
		{"both", func(b, o string) []string { return []string{"do it\n" + b + "\n" + o} }, "s,u"},
		{"one each", func(b, o string) []string { return []string{"do it\n" + o, "be kind\n" + b} }, "s,u"},
		{"quoted in the middle", func(b, _ string) []string { return []string{"what is\n" + b + "\nabout?"} }, ""},
		{"quoted in a line", func(b, _ string) []string { return []string{"they wrote: " + b} }, ""},
		{"quoted line by line", func(b, _ string) []string { return []string{"> " + strings.ReplaceAll(b, "\n", "\n> ")} }, ""},
		{"changed", func(b, _ string) []string { return []string{strings.Replace(b, "text", "TEXT", 1)} }, ""},
		{"only its end", func(b, _ string) []string { return []string{b[strings.LastIndex(b, "\n")+1:]} }, ""},
		{"only its marks", func(b, _ string) []string {
			lines := strings.Split(b, "\n")
			return []string{lines[0] + "\n" + lines[len(lines)-1]}
		}, ""},
	} {
		for _, way := range []string{"submission", "model request"} {
			w := newWorld(t, nil)
			w.put("m", "s", "u")
			o := opening()
			o.Sources = append(o.Sources, suppliedinput.SourceParent{SourceID: "u", SourceVersion: 1})
			scope := w.open(o)
			block, err := w.Append(scope, "s", "the text of it")
			if err != nil {
				t.Fatal(err)
			}
			other, err := w.Append(scope, "u", "")
			if err != nil {
				t.Fatal(err)
			}
			opened := func() string {
				s, err := w.Scope(scope)
				if err != nil || len(s.Handles) != 2 {
					t.Fatalf("%+v, %v", s.Handles, err)
				}
				var ids []string
				for _, h := range s.Handles {
					if h.Opened {
						ids = append(ids, h.SourceID)
					}
				}
				return strings.Join(ids, ",")
			}
			var submitted, asked []string
			if way == "submission" {
				submitted = c.texts(block, other)
			} else {
				asked = c.texts(block, other)
			}
			run := w.run(scope, "root", submitted...)
			good(t, w.Tool(background, run))
			if got := opened(); got != "" {
				t.Errorf("%s: %s opened before the model was asked", c.name, got)
			}
			good(t, w.ModelRequest(background, run, asked...))
			if got := opened(); got != c.opened {
				t.Errorf("%s in the %s: %q opened, want %q", c.name, way, got, c.opened)
			}
			w.complete(run)
			if queued, err := w.Queued(); err != nil || strings.Join(queued[0].Opened, ",") != c.opened {
				t.Errorf("%s: queued %+v, %v", c.name, queued, err)
			}
		}
	}
}

// TestBlocksOfBlockedScopes reach nobody, and those of another scope are words.
func TestBlocksOfBlockedScopes(t *testing.T) {
	w := newWorld(t, nil)
	w.put("m", "s")
	first, second := w.open(opening()), w.open(opening())
	block, err := w.Append(first, "s", "text")
	if err != nil {
		t.Fatal(err)
	}
	good(t, w.ModelRequest(background, w.run(second, "root", block)))
	run := w.run(first, "root", block)
	w.script(suppliedinput.Verification{Failure: suppliedinput.Timeout, Times: 1})
	blocked(t, w.ModelRequest(background, run, block), suppliedinput.FreshnessUnavailable)
	blocked(t, w.ModelRequest(background, run, block), suppliedinput.FreshnessUnavailable)
	for _, s := range w.Scopes() {
		if s.Handles[0].Opened {
			t.Errorf("opened in %s", s.ID)
		}
	}
	if _, err := w.Append(first, "m", "text"); !errors.Is(err, suppliedinput.ErrNoSource) {
		t.Errorf("a block of an input, which is not inherited: %v", err)
	}
}
