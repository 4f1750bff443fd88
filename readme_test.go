package hermesfake_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme finds every Go block of the README and the docs, line by line and in order,
// in a test that compiles and runs.
func TestReadme(t *testing.T) {
	var sources []string
	for _, pattern := range []string{"*_test.go", "examples/*_test.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, flat(string(source)))
		}
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```go\n(.*?)\n *```")
	found := 0
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			found++
			if !anyContains(sources, flat(m[1])) {
				t.Errorf("%s: this block is in no test:\n%s", page, m[1])
			}
		}
	}
	if found < 12 {
		t.Errorf("found %d Go blocks", found)
	}
}

// flat drops the indentation of every line.
func flat(source string) string {
	lines := strings.Split(strings.TrimSpace(source), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

func anyContains(sources []string, text string) bool {
	for _, s := range sources {
		if strings.Contains(s, text) {
			return true
		}
	}
	return false
}
