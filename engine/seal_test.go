package engine

import (
	"errors"
	"testing"
)

func TestSeal(t *testing.T) {
	id := RunID{1}
	record := Seal(id, []byte("content"))
	if content, err := Unseal(id, record); err != nil || string(content) != "content" || CheckRecord(id, record) != nil {
		t.Errorf("%q, %v, %v", content, err, CheckRecord(id, record))
	}
	bad := func(id RunID, record []byte) {
		t.Helper()
		if _, err := Unseal(id, record); !errors.Is(err, ErrRecord) || !errors.Is(CheckRecord(id, record), ErrRecord) {
			t.Errorf("%v, %v", err, CheckRecord(id, record))
		}
	}
	bad(RunID{2}, record)
	for i := range record {
		bad(id, record[:i])
		damaged := append([]byte{}, record...)
		damaged[i] ^= 1
		bad(id, damaged)
	}
	if content, err := Unseal(id, Seal(id, nil)); err != nil || len(content) != 0 {
		t.Errorf("%q, %v", content, err)
	}
}
