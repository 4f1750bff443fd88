package hermesfake

import "fmt"

// T is the part of *testing.T that Start needs.
type T interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// Start returns New for the duration of a test. When the test ends, the fake
// closes itself, fails the test if it got requests that no route takes (see
// WithUnmatchedAllowed) or a script went wrong, and logs a dump of its state if the test failed.
func Start(t T, options ...Option) *Fake {
	t.Helper()
	f := New(options...)
	t.Cleanup(func() {
		t.Helper()
		if !f.core.config.allowUnmatched {
			for _, u := range f.handler.Unmatched() {
				t.Errorf("hermesfake: %s %s matched no route%s", u.Method, u.Path, times(u.Count))
			}
		}
		f.Close()
		for _, err := range f.ScriptErrors() {
			t.Errorf("hermesfake: %v", err)
		}
		if t.Failed() {
			t.Logf("hermesfake: the state when the test failed:\n%s", f.Dump())
		}
	})
	return f
}

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", %d times", n)
}
