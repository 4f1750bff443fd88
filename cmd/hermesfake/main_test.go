package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/hermesfake/hermesfake"
)

// TestRun is about the command lines that serve nothing.
func TestRun(t *testing.T) {
	version := "hermesfake " + hermesfake.Version + "\n"
	for _, c := range []struct {
		args   string
		code   int
		stdout string // begins so; empty if this is
		stderr string // contains this; empty if this is
	}{
		{"", exitOK, usageText, ""},
		{"help", exitOK, usageText, ""},
		{"--help", exitOK, usageText, ""},
		{"-h", exitOK, usageText, ""},
		{"help serve", exitOK, serveText, ""},
		{"help version", exitOK, versionText, ""},
		{"serve --help", exitOK, serveText, ""},
		{"serve -h", exitOK, serveText, ""},
		{"serve --port 1 --help", exitOK, serveText, ""},
		{"version", exitOK, version, ""},
		{"version --help", exitOK, versionText, ""},

		{"start", exitUsage, "", `unknown command "start"`},
		{"--port 0", exitUsage, "", `unknown command "--port"`},
		{"help start", exitUsage, "", `unknown command "start"`},
		{"help serve now", exitUsage, "", `unexpected argument "now"`},
		{"version now", exitUsage, "", `hermesfake version: unexpected argument "now"`},
		{"version --port 0", exitUsage, "", "not defined: -port"},
		{"serve now", exitUsage, "", `hermesfake serve: unexpected argument "now"`},
		{"serve --port 0 now --seed 1", exitUsage, "", `unexpected argument "now"`},
		{"serve --ports 0", exitUsage, "", "not defined: -ports"},
		{"serve --port", exitUsage, "", "needs an argument: -port"},
		{"serve --port 65536", exitUsage, "", `"65536" for flag -port: must be a whole number from 0 to 65535`},
		{"serve --port -1", exitUsage, "", `"-1" for flag -port`},
		{"serve --port http", exitUsage, "", `"http" for flag -port`},
		{"serve --seed -1", exitUsage, "", `"-1" for flag -seed: must be a whole number from 0 to 18446744073709551615`},
		{"serve --seed 18446744073709551616", exitUsage, "", "for flag -seed"},
		{"serve --max-concurrent-runs -1", exitUsage, "", `"-1" for flag -max-concurrent-runs: must be a whole number, 0 or more`},
		{"serve --journal-size 1.5", exitUsage, "", `"1.5" for flag -journal-size: must be a whole number, 0 or more`},
		{"serve --log-format xml", exitUsage, "", `"xml" for flag -log-format: must be one of text, json, off`},
		{"serve --cors-origin app.example.com", exitUsage, "", `"app.example.com" for flag -cors-origin: must be an origin such as https://app.example.com`},
		{"serve --cors-origin https://app.example.com/", exitUsage, "", "for flag -cors-origin"},
		{"serve --log-format=", exitUsage, "", `"" for flag -log-format`},

		{"serve --host 0.0.0.0 --port 0", exitFailure, "", "use --host 127.0.0.1"},
		{"serve --host= --port 0", exitFailure, "", "use --host 127.0.0.1"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), strings.Fields(c.args), &stdout, &stderr)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.HasPrefix(stdout.String(), c.stdout) || c.stdout == "" && stdout.Len() > 0 {
				t.Errorf("stdout:\n%s", &stdout)
			}
			if !strings.Contains(stderr.String(), c.stderr) || c.stderr == "" && stderr.Len() > 0 {
				t.Errorf("stderr:\n%s", &stderr)
			}
		})
	}
}

// TestServeHelp: a line for each flag, with its default.
func TestServeHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	run(t.Context(), []string{"serve", "--help"}, &stdout, &stderr)
	lines := map[string]string{}
	for line := range strings.Lines(stdout.String()) {
		if name, ok := strings.CutPrefix(line, "  --"); ok {
			name, rest, _ := strings.Cut(name, " ")
			lines[name] = rest
		}
	}
	defaults := map[string]string{
		"host": "127.0.0.1", "port": "8827", "seed": "random", "model": "hermes-agent",
		"max-concurrent-runs": "10", "journal-size": "1000", "checkpoints": "1000", "log-format": "text", "log-level": "info",
	}
	for name, value := range defaults {
		if !strings.HasSuffix(lines[name], "(default "+value+")\n") {
			t.Errorf("--%s: %q does not end with its default, %s", name, lines[name], value)
		}
	}
	for _, name := range []string{"script", "auto", "api-key", "admin-key", "cors-origin", "profile", "data", "sync", "recover"} {
		if lines[name] == "" || strings.Contains(lines[name], "default") {
			t.Errorf("--%s: %q, want a line without a default", name, lines[name])
		}
	}
	if len(lines) != len(defaults)+9 {
		t.Errorf("help shows %d flags, the test knows %d:\n%s", len(lines), len(defaults)+9, &stdout)
	}
}

// TestSettings: what each flag sets.
func TestSettings(t *testing.T) {
	var s settings
	fs := s.flagSet()
	const line = "--host ::1 --port=0 -seed 18446744073709551615 --model m --max-concurrent-runs 0 --journal-size 0 --checkpoints 0 --log-format json --log-level debug"
	if err := parse(fs, strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	if s.seed == nil || *s.seed != 1<<64-1 {
		t.Errorf("seed %v", s.seed)
	}
	s.seed = nil
	if want := (settings{host: "::1", model: "m", logFormat: "json", logLevel: "debug"}); !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, want %+v", s, want)
	}
}
