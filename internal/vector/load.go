package vector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// File is one file of recordings.
type File struct {
	Name      string            // base name, such as "events.json"
	Source    map[string]string // what was run to record it
	Scenarios []Scenario
}

// Scenario is one recorded course of events in a world of its own.
type Scenario struct {
	File, Name        string
	Group             string // the part of the contract that it exercises
	MaxConcurrentRuns *int   // capacity of its gateway; nil is the provider's default
	Steps             []Step
}

// Streams reports whether the scenario holds event streams open beside other steps, which only a live Door can replay.
func (s Scenario) Streams() bool {
	return slices.ContainsFunc(s.Steps, func(step Step) bool { return step.Do == "subscribe" })
}

// Load reads every *.json of dir, sorted by name. Whatever it does not understand is an error that says where it stands: an
// unknown kind of step, an unknown, missing or repeated member, a name that nothing has introduced. So nothing of a recording is
// silently left out of the replay.
func Load(dir string) ([]File, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("vector: no *.json in %s", dir)
	}
	slices.Sort(names)
	files := make([]File, 0, len(names))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parseFile(filepath.Base(name), text)
		if err != nil {
			return nil, fmt.Errorf("vector: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

func parseFile(name string, text []byte) (File, error) {
	var recorded struct {
		Source    map[string]string `json:"source"`
		Scenarios []struct {
			Name   string `json:"name"`
			Group  string `json:"group"`
			Config struct {
				MaxConcurrentRuns *int `json:"max_concurrent_runs"`
			} `json:"config"`
			Steps []json.RawMessage `json:"steps"`
		} `json:"scenarios"`
	}
	if err := decodeStrictly(text, &recorded); err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(recorded.Scenarios) == 0 {
		return File{}, fmt.Errorf("%s: no scenarios", name)
	}
	file := File{Name: name, Source: recorded.Source}
	for _, from := range recorded.Scenarios {
		if from.Name == "" || len(from.Steps) == 0 {
			return File{}, fmt.Errorf("%s: scenario %q: no name or no steps", name, from.Name)
		}
		s := Scenario{File: name, Name: from.Name, Group: from.Group, MaxConcurrentRuns: from.Config.MaxConcurrentRuns}
		for i, raw := range from.Steps {
			step, err := parseStep(raw)
			if err != nil {
				return File{}, fmt.Errorf("%s: %s: step %d: %w", name, s.Name, i, err)
			}
			s.Steps = append(s.Steps, step)
		}
		if err := s.checkNames(); err != nil {
			return File{}, fmt.Errorf("%s: %s: %w", name, s.Name, err)
		}
		file.Scenarios = append(file.Scenarios, s)
	}
	return file, nil
}

// decodeStrictly is json.Unmarshal that also refuses members the target has no place for.
func decodeStrictly(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// placeholder is how a recording writes a run id, which no two implementations mint alike.
var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

// checkNames verifies that each step names only runs and subscribers that earlier steps introduced. It also refuses a restart
// while a stream may be open: such a stream breaks, and no recording says what its subscriber had got by then.
func (s Scenario) checkNames() error {
	runs := map[string]bool{}
	const open, closed = 1, 2
	streams := map[string]int{}
	for i, step := range s.Steps {
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("step %d (%s): %s", i, step.Do, fmt.Sprintf(format, args...))
		}
		if step.Run != "" && !runs[step.Run] {
			return wrong("no run is bound to %q", step.Run)
		}
		texts := []string{step.Request.Path}
		if bind := step.Request.Bind; bind != "" {
			if runs[bind] {
				return wrong("%q is already bound", bind)
			}
			runs[bind] = true
		}
		texts = append(texts, step.Request.Expect.Body)
		switch step.Do {
		case "subscribe":
			if streams[step.As] != 0 {
				return wrong("%q has subscribed before", step.As)
			}
			streams[step.As] = closed
			if step.Request.Expect.Status == 200 {
				streams[step.As] = open
			}
		case "restart":
			for name, state := range streams {
				if state == open {
					return wrong("the stream of %q is still open", name)
				}
			}
		}
		for name, text := range step.Receive {
			if streams[name] != open {
				return wrong("%q receives without an open stream", name)
			}
			texts = append(texts, text)
		}
		for _, name := range step.Ended {
			if streams[name] != open {
				return wrong("%q ends without an open stream", name)
			}
			streams[name] = closed
		}
		if step.Do == "disconnect" {
			if streams[step.As] != open {
				return wrong("%q has no open stream", step.As)
			}
			streams[step.As] = closed
		}
		for _, text := range texts {
			for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
				if !runs[match[1]] {
					return wrong("no run is bound to %s", match[0])
				}
			}
		}
	}
	return nil
}
