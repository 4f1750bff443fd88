package canon

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

// Every byte value at every place of a text of several words, in the company
// of bytes that could borrow from or mask it.
func TestRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	company := []byte("a !#[]\x7f\x80\xa2\xdc\xff\x20\x22\x5c\x1f\x00")
	for range 200 {
		for c := range 256 {
			s := make([]byte, 1+random.IntN(27))
			for i := range s {
				s[i] = company[random.IntN(3)]
				if random.IntN(6) == 0 {
					s[i] = company[random.IntN(len(company))]
				}
			}
			s[random.IntN(len(s))] = byte(c)
			plain, ascii, printable := len(s), len(s), len(s)
			for i := len(s) - 1; i >= 0; i-- {
				stop := s[i] < ' ' || s[i] == '"' || s[i] == '\\'
				if stop {
					plain = i
				}
				if stop || s[i] >= utf8.RuneSelf {
					ascii = i
				}
				if stop || s[i] >= 0x7f {
					printable = i
				}
			}
			if plainRun(s) != plain || plainASCII(s) != ascii || printableRun(string(s)) != printable {
				t.Fatalf("runs of %q: plain %d, want %d; ASCII %d, want %d; printable %d, want %d",
					s, plainRun(s), plain, plainASCII(s), ascii, printableRun(string(s)), printable)
			}
		}
	}
}
