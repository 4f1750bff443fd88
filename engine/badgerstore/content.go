package badgerstore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/hermesfake/hermesfake/engine"
)

// content is what the files of a database hold. It is read without opening the database, which would repair them: Badger
// ends a log at the first damaged entry and leaves out damaged tables, without a word.
type content struct {
	name    string // of the directory
	newest  map[string]version
	tables  uint64              // the last transaction that the tables have
	logs    map[uint64]struct{} // the transactions that the logs have
	damages []*damage
	ends    []*damage // where logs ended too early, which may be what a killed process did not finish
	keep    bool
	doubted map[string][]byte // the values of damaged entries
}

// The names of Badger's files, or what they end in. The value log is empty, since no value is large enough for it.
const (
	tableFile   = ".sst"
	memoryLog   = ".mem"
	valueLog    = ".vlog"
	discardFile = "DISCARD"
)

// version is the newest one of a key.
type version struct {
	number  uint64
	deleted bool
	sound   bool
	value   []byte // of a sound row only if it is kept, or large
}

// readContent reads a directory of Badger, which may have been closed. With keep it reads on where it can, and keeps the records of rows.
func readContent(dir string, closed, keep bool) (*content, error) {
	c := &content{name: filepath.Base(dir), newest: map[string]version{}, logs: map[uint64]struct{}{}, keep: keep,
		doubted: map[string][]byte{}}
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	for _, needed := range []string{badger.ManifestFilename, badger.KeyRegistryFileName, discardFile} {
		if !slices.Contains(names, needed) {
			c.damage(needed, ErrMissing, "")
		}
	}
	if _, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: dir, ReadOnly: true}); err != nil {
		c.damage(badger.KeyRegistryFileName, ErrChecksum, "")
	}
	tables, err := c.manifest(dir, names)
	if err != nil {
		return nil, err
	}
	if closed { // all of them count then, whatever the manifest says that may be damaged
		tables = tablesOf(names)
	}
	for _, name := range tables {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			c.damage(name, ErrMissing, "")
			continue
		}
		if err != nil {
			return nil, err
		}
		found := func(e entry) {
			var sequence, generation uint64
			if string(e.key) == storeKey && readNumbers(e.key, e.value, &sequence, &generation) == nil {
				c.tables = max(c.tables, sequence)
			}
			c.add(e)
		}
		if d := readTable(c.path(name), b, found); d != nil {
			c.damages = append(c.damages, d)
		}
	}
	valueLogs := 0
	for _, name := range names {
		values := strings.HasSuffix(name, valueLog)
		if !values && !strings.HasSuffix(name, memoryLog) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if values {
			valueLogs++
		}
		found := func(e entry) {
			var sequence, generation uint64
			if string(e.key) == storeKey && readNumbers(e.key, e.value, &sequence, &generation) == nil {
				c.logs[sequence] = struct{}{}
			}
			c.add(e)
		}
		d := readLog(c.path(name), b, keep, found)
		switch {
		case d == nil:
		case !values && logBegins(b), len(b) == 0:
			c.ends = append(c.ends, d)
		default:
			c.damages = append(c.damages, d)
		}
	}
	if valueLogs == 0 {
		c.damage("*"+valueLog, ErrMissing, "")
	}
	c.doubt()
	return c, nil
}

func (c *content) path(file string) string { return filepath.Join(c.name, file) }

func (c *content) damage(file string, kind error, what string) {
	c.damages = append(c.damages, &damage{c.path(file), kind, what})
}

func tablesOf(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasSuffix(name, tableFile) })
}

// manifest returns the tables that count. If the manifest cannot be read it is those that there are.
func (c *content) manifest(dir string, names []string) ([]string, error) {
	there := tablesOf(names)
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if errors.Is(err, os.ErrNotExist) {
		return there, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, end, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir).WithLogger(nil))
	if err != nil {
		c.damage(badger.ManifestFilename, ErrChecksum, "")
		return there, nil
	}
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if end != info.Size() {
		c.damage(badger.ManifestFilename, ErrTruncated, "")
		return there, nil
	}
	var tables []string
	for _, id := range slices.Sorted(maps.Keys(m.Tables)) {
		tables = append(tables, table.IDToFilename(id))
	}
	return tables, nil
}

// add takes an entry, if it is the newest of its key.
func (c *content) add(e entry) {
	if e.damaged {
		if c.keep {
			c.doubted[string(e.key)] = slices.Clone(e.value)
		}
		return
	}
	if known, ok := c.newest[string(e.key)]; ok && known.number > e.version {
		return
	}
	v := version{number: e.version, deleted: e.deleted, sound: true}
	switch e.key[0] {
	case rowKey:
		if e.deleted {
			break
		}
		if v.sound = isRow(e.key, e.value); v.sound && (c.keep || e.value[0] == largeRow) {
			v.value = slices.Clone(e.value)
		}
	case namespaceKey, storeKey[0], partKey, generationKey:
		v.value = slices.Clone(e.value)
	default:
		return // Badger's own
	}
	c.newest[string(e.key)] = v
}

// isRow reports whether a value is one of the row of the key.
func isRow(key, value []byte) bool {
	_, id, ok := splitRowKey(key)
	record, _, err := readRow(key, value)
	return ok && err == nil && (record == nil || engine.CheckRecord(id, record) == nil)
}

// doubt makes sure that no earlier state of a row takes the place of a damaged one: it may have been the latest. Where the
// damage is in its key, it is looked for whose it is.
func (c *content) doubt() {
	for key, value := range c.doubted {
		if _, known := c.newest[key]; !known {
			for other := range c.newest {
				if isRow([]byte(other), value) {
					key = other
					break
				}
			}
		}
		if v := c.newest[key]; key[0] == rowKey && !v.deleted { // no run comes back
			v.sound = false
			c.newest[key] = v
		}
	}
}

// size is how much the values take that were kept.
func (c *content) size() (bytes uint64) {
	for _, v := range c.newest {
		bytes += uint64(len(v.value))
	}
	return bytes
}

// get is the value of a key.
func (c *content) get(key []byte) ([]byte, error) {
	v, ok := c.newest[string(key)]
	if !ok || v.deleted {
		return nil, errValue
	}
	return v.value, nil
}

// spaces are the namespaces, and those whose own value is damaged.
func (c *content) spaces() (sound map[string]*space, damaged []string) {
	sound = map[string]*space{}
	for key, v := range c.newest {
		if key[0] != namespaceKey || v.deleted {
			continue
		}
		s := &space{}
		if s.read([]byte(key), v.value) != nil {
			damaged = append(damaged, key[1:])
			continue
		}
		sound[key[1:]] = s
	}
	return sound, damaged
}

// check returns the first thing that is wrong, where the transactions up to the given one were acknowledged.
func (c *content) check(acknowledged uint64) error {
	if len(c.damages) > 0 {
		return c.damages[0]
	}
	last := c.tables
	for sequence := range c.logs {
		last = max(last, sequence)
	}
	for sequence := c.tables + 1; sequence <= max(last, acknowledged); sequence++ {
		if _, ok := c.logs[sequence]; ok {
			continue
		}
		if len(c.ends) > 0 {
			return c.ends[0]
		}
		return &damage{c.path("the log"), ErrMissing, fmt.Sprintf("transactions up to %d were acknowledged, %d is not there",
			acknowledged, sequence)}
	}
	spaces, damaged := c.spaces()
	if len(damaged) > 0 {
		return &damage{c.name, ErrChecksum, "in namespace " + damaged[0]}
	}
	rows := map[uint64]uint64{}
	for key, v := range c.newest {
		if key[0] != rowKey || v.deleted {
			continue
		}
		generation, id, _ := splitRowKey([]byte(key))
		if !v.sound {
			return &damage{c.name, ErrChecksum, fmt.Sprintf("in the row of run %s", id)}
		}
		if v.value != nil && v.value[0] == largeRow {
			if _, err := c.record(key); err != nil {
				return &damage{c.name, ErrChecksum, fmt.Sprintf("in the row of run %s", id)}
			}
		}
		rows[generation]++
	}
	for name, s := range spaces {
		if rows[s.generation] != s.rows {
			return &damage{c.name, ErrMissing, fmt.Sprintf("namespace %s has %d rows of %d", name, rows[s.generation], s.rows)}
		}
	}
	return nil
}

// record is the sound record of a row that was kept, or that is large.
func (c *content) record(key string) ([]byte, error) {
	generation, id, ok := splitRowKey([]byte(key))
	v := c.newest[key]
	if !ok || !v.sound || v.deleted {
		return nil, errValue
	}
	record, p, err := readRow([]byte(key), v.value)
	if err != nil || record != nil {
		return record, err
	}
	if record, err = p.join(generation, id, c.get); err != nil {
		return nil, err
	}
	return record, engine.CheckRecord(id, record)
}
