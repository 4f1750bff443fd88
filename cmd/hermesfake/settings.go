package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"

	"github.com/hermesfake/hermesfake"
	"github.com/hermesfake/hermesfake/engine/badgerstore"
	"github.com/hermesfake/hermesfake/engine/suppliedinput/badgerqueue"
)

// settings are the flags of serve.
type settings struct {
	host              string
	port              int
	seed              *uint64 // nil: random
	model             string
	maxConcurrentRuns int
	journalSize       int
	checkpoints       int
	logFormat         string
	logLevel          string
	script            string // a file, "" for none
	auto              bool
	apiKey            string
	adminKey          string
	origins           []string
	profiles          [][2]string // name and key
	data              string      // the directory of the rows, "" for none
	sync              bool
	recover           bool
	store             *badgerstore.Store // that of data, once it is open
	queue             *badgerqueue.Queue // likewise
}

// The values of --log-format.
const (
	logText = "text"
	logJSON = "json"
	logOff  = "off"
)

// The values of --log-level.
const (
	logInfo  = "info"
	logDebug = "debug"
)

const serveText = `Usage: hermesfake serve [flags]

Serves the Hermes Agent API, its control plane under /__admin, and a page
to look at it all and drive it at /__admin/ui, until SIGINT or SIGTERM. As
soon as it takes connections it prints on stdout

  hermesfake listening on http://127.0.0.1:8827

and nothing else. The log goes to stderr: whoever starts the server with a
pipe there must read it, or use --log-format off.

Flags:
`

// flagSet returns the flags that set s, which has their defaults then.
func (s *settings) flagSet() *flag.FlagSet {
	*s = settings{port: 8827, maxConcurrentRuns: 10, journalSize: 1000, checkpoints: 1000, logFormat: logText, logLevel: logInfo}
	fs := newFlagSet("serve")
	fs.StringVar(&s.host, "host", "127.0.0.1", "`ADDRESS` to listen on; other than loopback only with an admin key")
	fs.Var(number{&s.port, math.MaxUint16}, "port", "`PORT` to listen on; 0 picks a free one")
	fs.Var(seed{&s.seed}, "seed", "`NUMBER` that ids are drawn from, so that runs repeat")
	fs.StringVar(&s.model, "model", "hermes-agent", "`NAME` of the model of runs whose submission names none")
	fs.Var(number{&s.maxConcurrentRuns, math.MaxInt}, "max-concurrent-runs", "unsettled runs, `N` at once, before 429; 0 for no bound")
	fs.Var(number{&s.journalSize, math.MaxInt}, "journal-size", "requests, the latest `N`, that each namespace's journal keeps")
	fs.Var(number{&s.checkpoints, math.MaxInt}, "checkpoints", "checkpoints, the latest `N`, that each namespace keeps; 0 for those only that are asked for")
	fs.Var(choice{&s.logFormat, []string{logText, logJSON, logOff}}, "log-format", "`FORMAT` of the log: text, json or off")
	fs.Var(choice{&s.logLevel, []string{logInfo, logDebug}}, "log-level", "`LEVEL` of the log: info for requests, debug for controls too")
	fs.StringVar(&s.script, "script", "", "`FILE` with a JSON script that plays the agent of each run")
	fs.StringVar(&s.apiKey, "api-key", "", "bearer `KEY` that provider routes need; also HERMESFAKE_API_KEY")
	fs.StringVar(&s.adminKey, "admin-key", "", "`KEY` that the control plane needs; also HERMESFAKE_ADMIN_KEY")
	fs.Func("cors-origin", "`ORIGIN` whose pages may use the provider routes, * for any; may be repeated", func(origin string) error {
		if !hermesfake.ValidOrigin(origin) {
			return errors.New("must be an origin such as https://app.example.com, without a path, or *")
		}
		s.origins = append(s.origins, origin)
		return nil
	})
	fs.Func("profile", "profile to serve under /p/NAME, as `NAME=KEY`, or NAME for no key; may be repeated", func(text string) error {
		name, key, _ := strings.Cut(text, "=")
		if !hermesfake.ValidName(name) {
			return errors.New("the name must match " + hermesfake.NamePattern)
		}
		s.profiles = append(s.profiles, [2]string{name, key})
		return nil
	})
	fs.StringVar(&s.data, "data", "", "`DIR` that keeps keyed runs and queued results of supplied input, so that they outlive the server")
	fs.BoolVar(&s.sync, "sync", false, "with --data: wait for the disk, so that they outlive a loss of power too")
	fs.BoolVar(&s.recover, "recover", false, "with --data: if it is damaged, keep what is sound")
	fs.BoolVar(&s.auto, "auto", false, "play a small built-in script: each run starts, streams and completes")
	return fs
}

// play gives the fake the script that was asked for.
func (s *settings) play(fake *hermesfake.Fake) error {
	switch {
	case s.auto && s.script != "":
		return errors.New("--auto and --script: give one of them")
	case s.auto:
		return fake.SetScript(hermesfake.AutoScript)
	case s.script == "":
		return nil
	}
	document, err := os.ReadFile(s.script)
	if err != nil {
		return fmt.Errorf("--script: %w", err)
	}
	if err := fake.SetScript(string(document)); err != nil {
		return fmt.Errorf("--script %s: %w", s.script, err)
	}
	return nil
}

// options are those of the fake.
func (s *settings) options(log *slog.Logger) []hermesfake.Option {
	options := []hermesfake.Option{
		hermesfake.WithModel(s.model),
		hermesfake.WithMaxConcurrentRuns(s.maxConcurrentRuns),
		hermesfake.WithJournalSize(s.journalSize),
		hermesfake.WithEventHistory(),
		hermesfake.WithCheckpoints(s.checkpoints),
	}
	options = append(options, hermesfake.WithAPIKey(s.apiKey), hermesfake.WithAdminKey(s.adminKey),
		hermesfake.WithCORSOrigins(s.origins...))
	for _, p := range s.profiles {
		options = append(options, hermesfake.WithProfile(p[0], p[1]))
	}
	if s.store != nil {
		options = append(options, hermesfake.WithStore(s.store), hermesfake.WithInputQueue(s.queue))
	}
	if s.seed != nil {
		options = append(options, hermesfake.WithSeed(*s.seed))
	}
	if s.logFormat != logOff {
		options = append(options, hermesfake.WithLogger(log))
	}
	return options
}

// logger returns the log that goes to w.
func (s *settings) logger(w io.Writer) *slog.Logger {
	var o slog.HandlerOptions
	if s.logLevel == logDebug {
		o.Level = slog.LevelDebug
	}
	switch s.logFormat {
	case logJSON:
		return slog.New(slog.NewJSONHandler(w, &o))
	case logText:
		return slog.New(slog.NewTextHandler(w, &o))
	default:
		return slog.New(slog.DiscardHandler)
	}
}

func runServe(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	fs := s.flagSet()
	if err := parse(fs, args); err != nil {
		return explain(err, fs, serveText, stdout, stderr)
	}
	if s.apiKey == "" {
		s.apiKey = os.Getenv("HERMESFAKE_API_KEY")
	}
	if s.adminKey == "" {
		s.adminKey = os.Getenv("HERMESFAKE_ADMIN_KEY")
	}
	err := s.openData(stderr)
	if err == nil {
		var listener net.Listener
		if listener, err = listen(ctx, s.host, s.port, s.adminKey != ""); err == nil {
			err = serve(ctx, listener, &s, defaultLimits(), stdout, stderr)
		}
		err = errors.Join(err, s.closeData())
	}
	if err != nil {
		fmt.Fprintf(stderr, "hermesfake serve: %v\n", err)
		return exitFailure
	}
	return exitOK
}
