package badgerstore

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2"
	"github.com/dgraph-io/badger/v4"
)

// sumsFile lists the files of a store that was closed: a line with checksum, size and name for each, and one with
// the checksum of the lines before it.
const sumsFile = "SUMS"

// isBadgers tells the files that Badger keeps from those that others put beside them.
func isBadgers(name string) bool {
	switch name {
	case badger.ManifestFilename, badger.KeyRegistryFileName, discardFile:
		return true
	}
	switch filepath.Ext(name) {
	case tableFile, memoryLog, valueLog:
		return true
	}
	return false
}

// writeSums lists the files of a directory.
func writeSums(dir string, sync bool) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, f := range files {
		if !isBadgers(f.Name()) {
			continue
		}
		size, sum, err := sumOf(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%016x %d %s\n", sum, size, f.Name())
	}
	fmt.Fprintf(&b, "%016x\n", xxhash.Sum64(b.Bytes()))
	out, err := os.OpenFile(filepath.Join(dir, sumsFile), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(b.Bytes())
	if err == nil && sync {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// sumsLength is that of the last line.
const sumsLength = 17

// checkSums compares the files of a directory with the list.
func checkSums(dir string) error {
	name := func(file string) string { return filepath.Join(filepath.Base(dir), file) }
	list, err := os.ReadFile(filepath.Join(dir, sumsFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &damage{file: name(sumsFile), kind: ErrMissing}
	case err != nil:
		return err
	case len(list) < sumsLength:
		return &damage{file: name(sumsFile), kind: ErrTruncated}
	}
	lines, last := list[:len(list)-sumsLength], list[len(list)-sumsLength:]
	if string(last) != fmt.Sprintf("%016x\n", xxhash.Sum64(lines)) {
		return &damage{file: name(sumsFile), kind: ErrChecksum}
	}
	for in := bufio.NewScanner(bytes.NewReader(lines)); in.Scan(); {
		var (
			wantSum  uint64
			wantSize int64
			file     string
		)
		if _, err := fmt.Sscanf(in.Text(), "%x %d %s", &wantSum, &wantSize, &file); err != nil {
			return &damage{file: name(sumsFile), kind: ErrChecksum}
		}
		size, sum, err := sumOf(filepath.Join(dir, file))
		switch {
		case errors.Is(err, os.ErrNotExist):
			return &damage{file: name(file), kind: ErrMissing}
		case err != nil:
			return err
		case size < wantSize:
			return &damage{name(file), ErrTruncated, fmt.Sprintf("it has %d bytes of %d", size, wantSize)}
		case size != wantSize || sum != wantSum:
			return &damage{file: name(file), kind: ErrChecksum}
		}
	}
	return nil
}

func sumOf(path string) (size int64, sum uint64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	d := xxhash.New()
	size, err = io.Copy(d, f)
	return size, d.Sum64(), err
}
