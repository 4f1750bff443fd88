package suppliedinput

import (
	"crypto/sha256"
	"slices"
	"strings"
)

// Handle is an inherited source as the scope knows it. It is opened once the exact block that the host appended for it has
// reached the native request.
type Handle struct {
	SourceParent
	Opened bool `json:"opened"`
}

// block is one that a host is to append. Its text is not kept.
type block struct {
	handle int // which handle it opens
	end    string
	length int
	hash   [sha256.Size]byte
}

// Append makes the block with which a host gives a text of an inherited source, which must be a source parent of the scope, to the
// agent: to be appended to the input, or to the instructions, behind a line break, as it is. The same words anywhere else,
// as in a quotation, are only words. It fails with ErrNoScope, ErrScopeClosed, ErrNoSource and ErrFull.
func (s *Space) Append(id, sourceID, text string) (appended string, err error) {
	s.mu.Lock()
	defer s.unlock()
	sc := s.state.scopes[id]
	if sc == nil {
		return "", ErrNoScope
	}
	if sc.closed {
		s.state.report(UsedAfterClose, sc, nil)
		return "", ErrScopeClosed
	}
	handle := slices.IndexFunc(sc.handles, func(h Handle) bool { return h.SourceID == sourceID })
	if handle < 0 {
		return "", ErrNoSource
	}
	if len(sc.blocks) >= maxBlocks {
		return "", ErrFull
	}
	s.state.tokens++
	token := s.state.mint("block", s.state.tokens)
	end := "[/source " + token + "]"
	appended = "[source " + token + "]\n" + text + "\n" + end
	sc.blocks = append(sc.blocks, block{handle, end, len(appended), sha256.Sum256([]byte(appended))})
	return appended, nil
}

// reached returns the handles whose blocks end the texts, one behind another.
func (sc *scope) reached(texts []string) (handles []int) {
	if len(sc.blocks) == 0 {
		return nil
	}
	for _, text := range texts {
		for {
			text = strings.TrimRight(text, " \t\r\n")
			at := slices.IndexFunc(sc.blocks, func(b block) bool { return b.endsIn(text) })
			if at < 0 {
				break
			}
			handles = append(handles, sc.blocks[at].handle)
			text = text[:len(text)-sc.blocks[at].length]
		}
	}
	return handles
}

// endsIn reports whether the text ends in the block, in lines of its own.
func (b *block) endsIn(text string) bool {
	if len(text) < b.length || !strings.HasSuffix(text, b.end) {
		return false
	}
	before := len(text) - b.length
	return (before == 0 || text[before-1] == '\n') && sha256.Sum256([]byte(text[before:])) == b.hash
}

func (sc *scope) reach(handles []int) {
	for _, h := range handles {
		sc.handles[h].Opened = true
	}
}
