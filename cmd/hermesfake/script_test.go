package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
)

func TestScriptFlags(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good.json", `{"steps": [{"complete": "played"}]}`)
	bad := file("bad.json", `{"steps": [{"status": "running"}, {"status": "nope"}]}`)
	for _, c := range []struct {
		s    settings
		want string // in the error; "" for none
	}{
		{settings{}, ""},
		{settings{auto: true}, ""},
		{settings{script: good}, ""},
		{settings{script: bad}, "steps[1]"},
		{settings{script: filepath.Join(dir, "none.json")}, "--script"},
		{settings{script: good, auto: true}, "give one of them"},
	} {
		fake := hermesfake.New()
		err := c.s.play(fake)
		fake.Close()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want %q", c.s, err, c.want)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"serve", "--port", "0", "--script", bad}, &stdout, &stderr); code != exitFailure ||
		!strings.Contains(stderr.String(), "steps[1]") || stdout.Len() > 0 {
		t.Errorf("a bad script: code %d, stdout %q, stderr %q", code, &stdout, &stderr)
	}
}
