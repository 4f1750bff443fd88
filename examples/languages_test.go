package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The examples for other languages run against the server as their readers would run them.
func TestOtherLanguages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the server and runs it for other languages")
	}
	server := filepath.Join(t.TempDir(), "hermesfake")
	if out, err := exec.Command("go", "build", "-o", server, "../cmd/hermesfake").CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	for _, c := range []struct {
		dir     string
		command []string
		needs   []string // a command that tells whether it can run here
	}{
		{"node", []string{"node", "--test"}, []string{"node", "--version"}},
		{"python", []string{"/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"}, []string{"/usr/bin/python3", "-m", "pytest", "--version"}},
		{"curl", []string{"bash", "test.sh"}, []string{"curl", "--version"}},
	} {
		t.Run(c.dir, func(t *testing.T) {
			if err := exec.Command(c.needs[0], c.needs[1:]...).Run(); err != nil {
				if os.Getenv("CI") != "" {
					t.Fatalf("%v must run in CI: %v", c.needs, err)
				}
				t.Skipf("%v does not run here: %v", c.needs, err)
			}
			run := exec.Command(c.command[0], c.command[1:]...)
			run.Dir = c.dir
			run.Env = append(os.Environ(), "HERMESFAKE="+server, "PYTHONDONTWRITEBYTECODE=1")
			out, err := run.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %v\n%s", c.command, err, out)
			}
			t.Logf("%s", out)
		})
	}
}
