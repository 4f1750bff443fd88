package engine

import (
	"encoding/binary"
	"fmt"
)

// sealFormat is the format number of a record that is no row's.
const sealFormat = 0xFF

// Seal returns a record for a Store that keeps something else than rows, of which id is the key: the content, with a checksum over both
// that CheckRecord knows.
func Seal(id RunID, content []byte) []byte {
	record := make([]byte, recordHead, recordHead+len(content))
	record[0] = sealFormat
	binary.BigEndian.PutUint64(record[1:], recordSum(id, content))
	return append(record, content...)
}

// Unseal returns the content of a record that Seal made. The error wraps ErrRecord.
func Unseal(id RunID, record []byte) (content []byte, err error) {
	switch {
	case len(record) < recordHead:
		return nil, fmt.Errorf("%w: it is cut short", ErrRecord)
	case record[0] != sealFormat || recordSum(id, record[recordHead:]) != binary.BigEndian.Uint64(record[1:]):
		return nil, fmt.Errorf("%w: its checksum does not match", ErrRecord)
	}
	return record[recordHead:], nil
}
