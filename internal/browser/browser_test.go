//go:build !race

package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	_ "github.com/hermesfake/hermesfake" // so that a result is of the same page
)

// TestPage drives the page of the real server in Chromium. It needs Chromium (CHROMIUM, or /usr/bin/chromium), Node 18 or later and what
// npm ci installs in this directory. PICTURE names the file that the picture for the docs goes to.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the server and runs it in a browser")
	}
	if lack := missing(); lack != "" {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s: it must run in CI", lack)
		}
		t.Skip(lack)
	}
	look(t)
	server := filepath.Join(t.TempDir(), "hermesfake")
	if out, err := exec.Command("go", "build", "-o", server, "../../cmd/hermesfake").CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	run := exec.Command("node", "--test", "--test-concurrency=1")
	run.Env = append(os.Environ(), "HERMESFAKE="+server, "PICTURE="+os.Getenv("PICTURE"))
	out, err := run.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if !regexp.MustCompile(`(?m)^. pass [1-9]`).Match(out) {
		t.Errorf("no test ran:\n%s", out)
	}
}

// look reads what the test runs, so that go test takes no earlier result for that of other files.
func look(t *testing.T) {
	for _, pattern := range []string{"*.mjs", "*.json", "../../cmd/hermesfake/*.go", "../../handler/ui/*"} {
		names, err := filepath.Glob(pattern)
		if err != nil || names == nil {
			t.Fatalf("no %s, error %v", pattern, err)
		}
		for _, name := range names {
			if _, err := os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// missing says what this machine lacks for the test, "" for nothing.
func missing() string {
	chromium := os.Getenv("CHROMIUM")
	if chromium == "" {
		chromium = "/usr/bin/chromium"
	}
	if _, err := exec.LookPath(chromium); err != nil {
		return "there is no Chromium at " + chromium + "; install it, or set CHROMIUM"
	}
	out, err := exec.Command("node", "--version").Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, _ := strconv.Atoi(major); err != nil || n < 18 {
		return "there is no Node 18 or later"
	}
	if _, err := os.Stat("node_modules/playwright-core"); err != nil {
		return "npm ci was not run in internal/browser"
	}
	return ""
}
