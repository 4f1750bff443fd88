package suppliedinput

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"
)

// Source is a source of the ledger.
type Source struct {
	ID string
	// Text is kept in memory only, and for the registry's excerpts.
	Text string
	// InputMessageHash is what input parents name it by. The default, and what "" stands for in Put, is the SHA-256 of the
	// text in lowercase hexadecimal.
	InputMessageHash string
	// Version counts from 1. 0 in Put stands for the next one.
	Version    int64
	Annotation string // "" while it has none
	Erased     bool   // its text and annotation are gone
	// Of a source that the assistant wrote, and that Deliver brought here: what it depends on.
	Assistant bool
	Inputs    []InputParent
	Sources   []SourceParent
}

// HashText returns the input_message_hash of a text: its SHA-256 in lowercase hexadecimal.
func HashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

type source struct {
	Source
	number uint64 // of the order in which sources were recorded first
}

// Put records a source or, if it is known, its next version, without the annotation of the last one. Only ID, Text,
// InputMessageHash and Version may be set. An erased source stays erased: that and everything else that makes no sense wraps
// ErrInvalid.
func (s *Space) Put(p Source) (Source, error) {
	s.mu.Lock()
	defer s.unlock()
	return s.state.put(p)
}

func (s *state) put(p Source) (Source, error) {
	if err := checkText("source_id", p.ID, MaxID); err != nil {
		return Source{}, err
	}
	switch {
	case p.Annotation != "" || p.Erased || p.Assistant || p.Inputs != nil || p.Sources != nil:
		return Source{}, invalid("a source is put with id, text, input_message_hash and version alone")
	case !utf8.ValidString(p.Text) || len(p.Text) > maxSourceText:
		return Source{}, invalid("text must be valid Unicode of at most %d bytes", maxSourceText)
	case p.Version < 0:
		return Source{}, invalid("version must be 1 or more")
	}
	if p.InputMessageHash == "" {
		p.InputMessageHash = HashText(p.Text)
	} else if err := checkHash(p.InputMessageHash); err != nil {
		return Source{}, err
	}
	known := s.sources[p.ID]
	last := int64(0)
	if known != nil {
		if known.Erased {
			return Source{}, invalid("the source was erased, and stays so")
		}
		if known.Assistant {
			return Source{}, invalid("the assistant's own source cannot be put")
		}
		last = known.Version
	} else if len(s.sources) >= maxSources {
		return Source{}, ErrFull
	}
	if p.Version == 0 {
		p.Version = last + 1
	}
	if p.Version <= last {
		return Source{}, invalid("version must be more than %d, the present one", last)
	}
	p.Text = strings.Clone(p.Text)
	s.enter(p)
	return p, nil
}

// enter has a source in the ledger, in the place of what it was before.
func (s *state) enter(p Source) *source {
	known := s.sources[p.ID]
	if known == nil {
		s.recorded++
		known = &source{number: s.recorded}
		s.sources[p.ID] = known
	}
	known.Source = p
	return known
}

// Annotate marks a source, which the registry of work does not excerpt any more. "" takes the mark away. It fails with
// ErrNoSource, also where the source was erased.
func (s *Space) Annotate(id, annotation string) error {
	s.mu.Lock()
	defer s.unlock()
	known := s.state.sources[id]
	if known == nil || known.Erased {
		return ErrNoSource
	}
	if !utf8.ValidString(annotation) || utf8.RuneCountInString(annotation) > MaxID {
		return invalid("annotation must be valid Unicode of at most %d characters", MaxID)
	}
	known.Annotation = annotation
	return nil
}

// Source returns a source, or ErrNoSource.
func (s *Space) Source(id string) (Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.state.sources[id]; known != nil {
		return known.copy(), nil
	}
	return Source{}, ErrNoSource
}

// Sources returns all sources, in the order of their ids.
func (s *Space) Sources() []Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Source, 0, len(s.state.sources))
	for _, known := range s.state.sources {
		list = append(list, known.copy())
	}
	slices.SortFunc(list, func(a, b Source) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func (s *source) copy() Source {
	c := s.Source
	c.Inputs, c.Sources = slices.Clone(c.Inputs), slices.Clone(c.Sources)
	return c
}
