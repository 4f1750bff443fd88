package hermesfake

import (
	"fmt"

	"github.com/hermesfake/hermesfake/handler"
)

// T is the part of *testing.T that Start needs.
type T interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// Start returns New for the duration of a test. When the test ends, the fake
// closes itself, fails the test if it got requests that no route takes or to a host that
// is not its own (see WithUnmatchedAllowed), a script went wrong, or a host misused
// supplied input (see WithInputMisuseAllowed), and logs a dump of its state if the test failed.
// An option that makes no sense fails the test at once.
func Start(t T, options ...Option) *Fake {
	t.Helper()
	f := New(options...)
	for _, text := range f.core.config.ignored {
		t.Errorf("hermesfake: %s", text)
	}
	t.Cleanup(func() {
		t.Helper()
		if !f.core.config.allowUnmatched {
			for _, u := range f.handler.Unmatched() {
				t.Errorf("hermesfake: %s", describe(u))
			}
		}
		state := ""
		if t.Failed() {
			state = f.Dump() // while streams are open and subscribers wait
		}
		f.Close()
		for _, err := range f.ScriptErrors() {
			t.Errorf("hermesfake: %v", err)
		}
		if !f.core.config.allowMisuse {
			for _, m := range f.core.misuses() {
				t.Errorf("hermesfake: %s", m)
			}
		}
		if t.Failed() {
			if state == "" {
				state = f.Dump()
			}
			t.Logf("hermesfake: the state when the test failed:\n%s", state)
		}
	})
	return f
}

// describe says what was wrong with a request, and what may have been meant.
func describe(u handler.Unmatched) string {
	problem := fmt.Sprintf("%s %s matched no route", u.Method, u.Path)
	if u.Host != "" {
		problem = fmt.Sprintf("%s %s%s went to a host that is not the fake's", u.Method, u.Host, u.Path)
	}
	problem += times(u.Count)
	if pattern, why, ok := handler.Nearest(u.Method, u.Path); ok && why != "" {
		problem += fmt.Sprintf("; the nearest is %s (the request has %s)", pattern, why)
	}
	return problem
}

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", %d times", n)
}
