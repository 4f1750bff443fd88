package badgerstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// headFile is the file that makes a directory a store. It is locked while the store is open, says which
// subdirectory has the rows, and how far the acknowledged transactions go: Badger itself takes a damaged log for one
// that ends early.
const headFile = "HERMESFAKE"

const (
	headMagic = "hermesfake rows\n"
	format    = 1
	headSize  = 48
)

// head is what the file says. Its layout and checksum stay the same in every format.
type head struct {
	directory uint32 // the rows are in rows-N
	sequence  uint64 // of the last transaction that was acknowledged
	closed    bool   // since then the store was closed, and sumsFile says what the files were then
}

func (h head) bytes() []byte {
	b := make([]byte, headSize)
	copy(b, headMagic)
	binary.BigEndian.PutUint32(b[16:], format)
	binary.BigEndian.PutUint32(b[20:], h.directory)
	binary.BigEndian.PutUint64(b[24:], h.sequence)
	if h.closed {
		b[39] = 1
	}
	binary.BigEndian.PutUint64(b[40:], xxhash.Sum64(b[:40]))
	return b
}

// rows is the name of the subdirectory of the rows.
func (h head) rows() string { return rowsPrefix + strconv.Itoa(int(h.directory)) }

const rowsPrefix = "rows-"

// openHead opens and locks the head of a store, and makes one where there is no store yet, or if it is told to.
func openHead(dir string, make bool) (*os.File, error) {
	latest, err := latestRows(dir)
	if err != nil {
		return nil, err
	}
	flags := os.O_RDWR
	if make || latest == 0 {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(dir, headFile), flags, 0o600)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, &damage{file: headFile, kind: ErrMissing}
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnwritable, err)
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readHead reads the head of a store. With an error it still says which directory may have the rows.
func readHead(f *os.File, dir string) (head, error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, headSize))
	if err != nil {
		return head{}, err
	}
	latest, err := latestRows(dir)
	switch {
	case err != nil:
		return head{}, err
	case len(b) == 0 && latest == 0:
		return head{directory: 1}, nil // a new store
	case len(b) == 0:
		return head{directory: latest}, &damage{file: headFile, kind: ErrTruncated, what: "there is nothing in it"}
	case len(b) < headSize:
		return head{directory: latest}, &damage{file: headFile, kind: ErrTruncated}
	case string(b[:16]) != headMagic || xxhash.Sum64(b[:40]) != binary.BigEndian.Uint64(b[40:]):
		return head{directory: latest}, &damage{file: headFile, kind: ErrChecksum}
	}
	if v := binary.BigEndian.Uint32(b[16:]); v != format {
		return head{}, fmt.Errorf("%w: its format is %d, this version knows %d", ErrNewer, v, format)
	}
	return head{
		directory: binary.BigEndian.Uint32(b[20:]),
		sequence:  binary.BigEndian.Uint64(b[24:]),
		closed:    b[39] == 1,
	}, nil
}

// latestRows is the number of the latest subdirectory of rows, 0 if there is none.
func latestRows(dir string) (latest uint32, err error) {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		if number, ok := strings.CutPrefix(f.Name(), rowsPrefix); ok {
			if n, err := strconv.ParseUint(number, 10, 32); err == nil {
				latest = max(latest, uint32(n))
			}
		}
	}
	return latest, err
}

// write replaces what the file says, in one piece.
func (h head) write(f *os.File) error {
	_, err := f.WriteAt(h.bytes(), 0)
	return err
}
