package hermesfake

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// modulePath is that of this module.
const modulePath = "github.com/hermesfake/hermesfake"

// maxFrames bounds how far up callerLine looks.
const maxFrames = 100

// maxLines is how many lines callerLine names: that of a helper, and those that called it.
const maxLines = 3

// callerLine returns the file and line of the innermost calls on this goroutine that are a test's or, where there is none, of the innermost
// one that is neither of this module nor of what carries its requests. "" where there is none of them either, as on the goroutine of a server.
func callerLine() string {
	pcs := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	outside, tests := "", []string(nil)
	for more := true; more && len(tests) < maxLines; {
		var f runtime.Frame
		f, more = frames.Next()
		line := fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		if strings.HasSuffix(f.File, "_test.go") {
			tests = append(tests, line)
		} else if outside == "" && isOutside(f.Function) {
			outside = line
		}
	}
	if tests == nil {
		return outside
	}
	return strings.Join(tests, ", from ")
}

// isOutside reports whether a function is of a host.
func isOutside(function string) bool {
	for _, inside := range [...]string{modulePath, "runtime.", "testing.", "net/http.", "net/http/httptest.", "github.com/jarcoal/httpmock."} {
		if strings.HasPrefix(function, inside) {
			return false
		}
	}
	return function != ""
}
