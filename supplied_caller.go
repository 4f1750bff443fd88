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

// callerLine returns the file and line of the innermost call on this goroutine that is a test's or, where there is none, of the innermost
// one that is neither of this module nor of what carries its requests. "" where there is none of them either, as on the goroutine of a server.
func callerLine() string {
	pcs := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	outside := ""
	for {
		f, more := frames.Next()
		line := fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		if strings.HasSuffix(f.File, "_test.go") {
			return line
		}
		if outside == "" && isOutside(f.Function) {
			outside = line
		}
		if !more {
			return outside
		}
	}
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
