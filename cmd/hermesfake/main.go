// Command hermesfake serves a fake Hermes Agent API server to programs in any
// language.
//
//	hermesfake serve --port 0
//
// prints one line on stdout as soon as it takes connections,
//
//	hermesfake listening on http://127.0.0.1:PORT
//
// logs requests on stderr, and ends on SIGINT or SIGTERM with exit code 0. Exit
// code 1 is a failure, 2 a command line that is wrong.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/VictoriaMetrics/metrics"

	"github.com/hermesfake/hermesfake"
)

func main() {
	metrics.ExposeMetadata(true) // of the whole process, so not the library's to decide
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the second one is not caught, and kills at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

const usageText = `hermesfake is a fake Hermes Agent API server for tests.

Usage:
  hermesfake serve [flags]    serve the API until SIGINT or SIGTERM
  hermesfake version          print the version
  hermesfake help [command]   print this, or the help of a command

hermesfake serve --help shows each flag.
`

// run executes a command line, without the name of the program, until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		args = []string{"help"}
	}
	name, args := args[0], args[1:]
	if name == "help" && len(args) == 1 {
		name, args = args[0], []string{"--help"}
	}
	switch name {
	case "serve":
		return runServe(ctx, args, stdout, stderr)
	case "version":
		return runVersion(args, stdout, stderr)
	case "help", "--help", "-help", "-h":
		if len(args) > 1 {
			fmt.Fprintf(stderr, "hermesfake help: unexpected argument %q\n", args[1])
			return exitUsage
		}
		fmt.Fprint(stdout, usageText)
		return exitOK
	default:
		fmt.Fprintf(stderr, "hermesfake: unknown command %q\nRun 'hermesfake help' for the commands.\n", name)
		return exitUsage
	}
}

const versionText = `Usage: hermesfake version

Prints the version.
`

func runVersion(args []string, stdout, stderr io.Writer) int {
	fs := newFlagSet("version")
	if err := parse(fs, args); err != nil {
		return explain(err, fs, versionText, stdout, stderr)
	}
	fmt.Fprintln(stdout, "hermesfake", hermesfake.Version)
	return exitOK
}
