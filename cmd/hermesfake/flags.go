package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// newFlagSet returns the flags of a command, which has none yet. Its name is
// the command's.
func newFlagSet(command string) *flag.FlagSet {
	fs := flag.NewFlagSet(command, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // explain writes it all
	return fs
}

// parse reads the arguments of a command that takes nothing but flags.
func parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return nil
}

// explain answers an error of parse: with the command's help, if that was asked for,
// or with what is wrong. It returns the exit code.
func explain(err error, fs *flag.FlagSet, about string, stdout, stderr io.Writer) int {
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, about)
		printFlags(stdout, fs)
		return exitOK
	}
	fmt.Fprintf(stderr, "hermesfake %s: %v\nRun 'hermesfake %[1]s --help' for its flags.\n", fs.Name(), err)
	return exitUsage
}

// printFlags prints a line for each flag.
func printFlags(w io.Writer, fs *flag.FlagSet) {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fs.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(t, "  --%s %s\t%s\n", f.Name, value, usage)
	})
	t.Flush()
}

// number is the value of a flag that takes a whole number from 0 to max.
type number struct {
	value *int
	max   int
}

func (n number) String() string {
	if n.value == nil {
		return ""
	}
	return strconv.Itoa(*n.value)
}

// Set implements flag.Value.
func (n number) Set(text string) error {
	v, err := strconv.Atoi(text)
	switch {
	case err == nil && v >= 0 && v <= n.max:
		*n.value = v
		return nil
	case n.max == math.MaxInt:
		return errors.New("must be a whole number, 0 or more")
	default:
		return fmt.Errorf("must be a whole number from 0 to %d", n.max)
	}
}

// choice is the value of a flag that takes one of several words.
type choice struct {
	value *string
	words []string
}

func (c choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Set implements flag.Value.
func (c choice) Set(text string) error {
	if !slices.Contains(c.words, text) {
		return fmt.Errorf("must be one of %s", strings.Join(c.words, ", "))
	}
	*c.value = text
	return nil
}

// seed is the value of a flag that takes a number of 64 bits; nil stands for
// a random one.
type seed struct {
	value **uint64
}

func (s seed) String() string {
	if s.value == nil || *s.value == nil {
		return "random"
	}
	return strconv.FormatUint(**s.value, 10)
}

// Set implements flag.Value.
func (s seed) Set(text string) error {
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("must be a whole number from 0 to %d", uint64(math.MaxUint64))
	}
	*s.value = &v
	return nil
}
