package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hermesfake/hermesfake/canon"
)

// brittle is a store that fails when told to, and counts what it was given.
type brittle struct {
	*MemoryStore
	fails   error
	applied []Changes
}

func (b *brittle) Apply(namespace string, c Changes) error {
	if b.fails != nil {
		return b.fails
	}
	b.applied = append(b.applied, c)
	return b.MemoryStore.Apply(namespace, c)
}

func (b *brittle) Drop(namespace string) error {
	if b.fails != nil {
		return b.fails
	}
	return b.MemoryStore.Drop(namespace)
}

// TestStorageFailure: what the store refuses does not happen, and happens once it does not refuse any more.
func TestStorageFailure(t *testing.T) {
	answer := Answer{Choice: Once}
	ask := canon.Object{{Name: "command", Value: canon.String("ls")}}
	for name, c := range map[string]struct {
		prepare func(n *Namespace, id RunID)
		do      func(n *Namespace, id RunID) error
	}{
		"submit": {do: func(n *Namespace, id RunID) error {
			_, err := n.Submit(Submission{Key: "new"})
			return err
		}},
		"submit without key": {
			prepare: func(n *Namespace, id RunID) { n.storage.reserved = n.before + n.world.admitted },
			do: func(n *Namespace, id RunID) error {
				_, err := n.Submit(Submission{})
				return err
			}},
		"submit that prunes": {
			prepare: func(n *Namespace, id RunID) {
				observe(t, n, id, Completed)
				advance(t, n, rowRetention+1)
			},
			do: func(n *Namespace, id RunID) error {
				_, err := n.Submit(Submission{Key: "new"})
				return err
			}},
		"start": {do: func(n *Namespace, id RunID) error { _, err := n.Observe(id, Observation{Status: Running}); return err }},
		"complete": {do: func(n *Namespace, id RunID) error {
			_, err := n.Observe(id, Observation{Status: Completed})
			return err
		}},
		"interrupt": {do: func(n *Namespace, id RunID) error {
			_, err := n.Observe(id, Observation{Status: Interrupted})
			return err
		}},
		"ask":  {do: func(n *Namespace, id RunID) error { _, err := n.Ask(id, ask); return err }},
		"stop": {do: func(n *Namespace, id RunID) error { _, _, err := n.Stop(id); return err }},
		"approve": {
			prepare: func(n *Namespace, id RunID) {
				if _, err := n.Ask(id, ask); err != nil {
					t.Fatal(err)
				}
			},
			do: func(n *Namespace, id RunID) error { _, err := n.Approve(id, answer); return err }},
		"read-back by a poll":    {prepare: stale, do: func(n *Namespace, id RunID) error { _, err := n.Run(id); return err }},
		"read-back by a stop":    {prepare: stale, do: func(n *Namespace, id RunID) error { _, _, err := n.Stop(id); return err }},
		"read-back by a replay":  {prepare: stale, do: func(n *Namespace, id RunID) error { _, err := n.Submit(Submission{Key: "key"}); return err }},
		"read-back by a steer":   {prepare: stale, do: func(n *Namespace, id RunID) error { return settled(n.Steer(id, "text"), SteerNotAccepting) }},
		"read-back by steerable": {prepare: stale, do: func(n *Namespace, id RunID) error { return settled(n.Steerable(id), SteerNotAccepting) }},
		"read-back by an approve": {prepare: stale, do: func(n *Namespace, id RunID) error {
			_, err := n.Approve(id, answer)
			return settled(err, ApprovalNotActive)
		}},
		"read-back by an observe": {prepare: stale, do: func(n *Namespace, id RunID) error {
			_, err := n.Observe(id, Observation{Status: Running})
			return settled(err, RunSettled)
		}},
		"reset": {do: func(n *Namespace, id RunID) error { return n.Reset() }},
		"drop":  {do: func(n *Namespace, id RunID) error { return n.engine.DropNamespace(n.name) }},
	} {
		t.Run(name, func(t *testing.T) {
			store := &brittle{MemoryStore: NewMemoryStore()}
			n := open(t, Config{Store: store})
			id := submit(t, n, "key")
			if c.prepare != nil {
				c.prepare(n, id)
			}
			s, err := n.Subscribe(id)
			if err != nil && name[:2] != "re" && name != "submit that prunes" {
				t.Fatal(err)
			}
			if s != nil {
				s.pending = nil
			}
			asked := false
			x := n.Execute(id, func(error) { asked = true })
			defer x.Done()
			asked = false
			before, keys := n.world, len(n.keys)
			counts := n.Counts()
			stored := records(t, store)

			store.fails = errors.New("no room")
			for range 2 {
				err := c.do(n, id)
				if !errors.Is(err, StorageFailed) || err.Error() != "Mockingbird: no room" {
					t.Fatalf("error %v", err)
				}
			}
			if n.world != before || len(n.keys) != keys || n.Counts() != counts {
				t.Errorf("the state has changed: %+v, was %+v", n.Counts(), counts)
			}
			if !reflect.DeepEqual(records(t, store), stored) {
				t.Error("the store has changed")
			}
			if s != nil && (len(s.pending) > 0 || s.err != nil) {
				t.Errorf("the stream was given %q, %v", s.pending, s.err)
			}
			if asked {
				t.Error("the executor was told")
			}

			store.fails = nil
			if err := c.do(n, id); err != nil {
				t.Errorf("once there is room: %v", err)
			}
			if n.world == before && name != "drop" {
				t.Error("nothing has changed then")
			}
		})
	}
}

// stale restarts the gateway, so that the next access of a run writes it.
func stale(n *Namespace, id RunID) { n.Restart(OwnerStale) }

// settled is nil where the error is the refusal that is due.
func settled(err error, due Reason) error {
	if errors.Is(err, due) {
		return nil
	}
	return err
}

func records(t *testing.T, s Store) map[RunID]string {
	t.Helper()
	all := map[RunID]string{}
	if _, err := s.Load(DefaultNamespace, func(id RunID, record []byte) error {
		all[id] = string(record)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestStorageWrites: one transition is one Apply, and only what the provider writes to a row is written.
func TestStorageWrites(t *testing.T) {
	store := &brittle{MemoryStore: NewMemoryStore()}
	n := open(t, Config{Store: store})
	writes := func(what string, want int, do func()) {
		t.Helper()
		store.applied = nil
		do()
		if len(store.applied) != want {
			t.Errorf("%s: %d writes, want %d", what, len(store.applied), want)
		}
		for _, c := range store.applied {
			if len(c.Put) != 1 || len(c.Delete) != 0 || c.Rows != n.Counts().Durable {
				t.Errorf("%s: %+v", what, c)
			}
		}
	}
	var id RunID
	writes("admission", 1, func() { id = submit(t, n, "key") })
	writes("replay", 0, func() { n.Submit(Submission{Key: "key"}) })
	writes("conflict", 0, func() { n.Submit(Submission{Key: "key", Fingerprint: [32]byte{1}}) })
	writes("keyless", 0, func() { submit(t, n, "") })
	writes("poll", 0, func() { n.Run(id) })
	writes("start", 1, func() { observe(t, n, id, Running) })
	writes("start again", 0, func() { observe(t, n, id, Running) })
	writes("delta", 0, func() { n.EmitDelta(id, "text") })
	writes("tool", 0, func() { n.Emit(id, Event{Name: "tool.started"}) })
	writes("steer", 0, func() { n.Steer(id, "text") })
	writes("ask", 1, func() { n.Ask(id, canon.Object{}) })
	writes("approve", 1, func() { n.Approve(id, Answer{Choice: Once}) })
	writes("stop", 1, func() { n.Stop(id) })
	writes("stop again", 0, func() { n.Stop(id) })
	writes("complete", 1, func() { observe(t, n, id, Completed) })
	writes("sweep", 0, func() { advance(t, n, 2*cacheRetention); sweep(t, n) })
	writes("read-back of a settled run", 0, func() { n.Run(id) })
	writes("restart", 0, func() { n.Restart(OwnerStale) })
	other := submit(t, n, "other")
	n.Restart(OwnerAlive)
	writes("read-back of one that lives elsewhere", 0, func() { n.Run(other) })
	n.Restart(OwnerStale)
	writes("read-back of one that does not", 1, func() { n.Run(other) })
	writes("second read", 0, func() { n.Run(other) })
}

// reopened returns a namespace over rows whose owner is the given process.
func reopened(t *testing.T, owner process, status Status) (*Namespace, RunID) {
	t.Helper()
	store := NewMemoryStore()
	n := open(t, Config{Store: store})
	n.storage.self = owner
	id := submit(t, n, "key")
	if status != Queued {
		observe(t, n, id, status)
	}
	n.engine.Close()
	return open(t, Config{Store: store}), id
}

// ended starts a process, ends it, and returns it as it was while it ran. Unless waited for it is a zombie.
func ended(t *testing.T, waited bool) process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := process{pid: cmd.Process.Pid}
	p.start, _, _ = startTime(p.pid)
	cmd.Process.Kill()
	new(bytes.Buffer).ReadFrom(out) // until its end
	if waited {
		cmd.Wait()
	} else {
		for p.alive() { // it closes its files before it is a zombie
		}
		t.Cleanup(func() { cmd.Wait() })
	}
	return p
}

func TestOwnerGone(t *testing.T) {
	parent := process{pid: os.Getppid()}
	parent.start, _, _ = startTime(parent.pid)
	for name, owner := range map[string]process{
		"this process":                  thisProcess(),
		"ended":                         ended(t, true),
		"zombie":                        ended(t, false),
		"its number has another owner":  {parent.pid, parent.start + 1},
		"no process":                    {},
		"its number was never a number": {-1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "its number has another owner" && parent.start == 0 {
				t.Skip("no start times here")
			}
			n, id := reopened(t, owner, Running)
			run, err := n.Run(id)
			if err != nil || run.Status() != Interrupted || run.Err() != restartError {
				t.Errorf("%v %v", run, err)
			}
		})
	}
}

// TestOwnerElsewhere: a row whose owner lives in another process stays, and is not this process's to control (vectors:
// restart.json, restart-alive).
func TestOwnerElsewhere(t *testing.T) {
	parent := process{pid: os.Getppid()}
	parent.start, _, _ = startTime(parent.pid)
	for name, owner := range map[string]process{"with its start time": parent, "by its number alone": {pid: parent.pid}} {
		t.Run(name, func(t *testing.T) {
			n, id := reopened(t, owner, Running)
			run, err := n.Run(id)
			if err != nil || run.Status() != Running || run.Active() {
				t.Errorf("%v %v", run, err)
			}
			if _, _, err := n.Stop(id); !errors.Is(err, RunNotActive) {
				t.Errorf("stop: %v", err)
			}
			if err := n.Steer(id, "text"); !errors.Is(err, SteerNotAccepting) {
				t.Errorf("steer: %v", err)
			}
			if _, err := n.Approve(id, Answer{Choice: Once}); !errors.Is(err, ApprovalNotActive) {
				t.Errorf("approve: %v", err)
			}
			if _, err := n.Subscribe(id); !errors.Is(err, RunNotFound) {
				t.Errorf("events: %v", err)
			}
			if n.Counts().Active != 0 {
				t.Error("it holds a slot here")
			}
			// The restart control decides for all rows, those of other processes too.
			n.Restart(OwnerStale)
			if run, err := n.Run(id); err != nil || run.Status() != Interrupted {
				t.Errorf("after a stale restart: %v %v", run, err)
			}
		})
	}
}

// TestOwnerStays: what an observe writes for another process is still that one's, and goes when it goes.
func TestOwnerStays(t *testing.T) {
	parent := process{pid: os.Getppid()}
	parent.start, _, _ = startTime(parent.pid)
	n, id := reopened(t, parent, Queued)
	observe(t, n, id, Running)
	store := n.engine.store
	n.engine.Close()
	again := open(t, Config{Store: store})
	if run, err := again.Run(id); err != nil || run.Status() != Running {
		t.Errorf("%v %v", run, err)
	}
}

// TestOwnersOfOneNamespace: rows of one namespace may have several owners.
func TestOwnersOfOneNamespace(t *testing.T) {
	store := NewMemoryStore()
	n := open(t, Config{Store: store})
	mine := submit(t, n, "mine")
	n.storage.self = process{pid: os.Getppid()}
	theirs := submit(t, n, "theirs")
	n.engine.Close()
	n = open(t, Config{Store: store})
	if run, err := n.Run(mine); err != nil || run.Status() != Interrupted {
		t.Errorf("mine: %v %v", run, err)
	}
	if run, err := n.Run(theirs); err != nil || run.Status() != Queued {
		t.Errorf("theirs: %v %v", run, err)
	}
}

func TestUnreadableRow(t *testing.T) {
	store := NewMemoryStore()
	n := open(t, Config{Store: store})
	submit(t, n, "key")
	n.engine.Close()
	for id, record := range records(t, store) {
		flipped := []byte(record)
		flipped[len(flipped)/2] ^= 4
		store.Apply(DefaultNamespace, Changes{Put: []StoredRow{{id, flipped}}, Rows: 1})
	}
	n = open(t, Config{Store: store})
	_, err := n.Submit(Submission{Key: "key"})
	if !errors.Is(err, StorageFailed) || !strings.Contains(err.Error(), "damaged record of run run_") {
		t.Errorf("submit: %v", err)
	}
	if err := n.engine.DropNamespace(DefaultNamespace); err != nil {
		t.Fatal(err)
	}
	n, err = n.engine.Namespace(DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	submit(t, n, "key")
}

// TestRecordDamage: no byte of a record can change unseen.
func TestRecordDamage(t *testing.T) {
	n := open(t, Config{Store: NewMemoryStore()})
	id := submit(t, n, "key")
	n.Ask(id, canon.Object{{Name: "command", Value: canon.String("ls")}})
	usage := Usage{1, 2, 3}
	if _, err := n.Observe(id, Observation{Status: Completed, Output: "done", Usage: usage}); err != nil {
		t.Fatal(err)
	}
	for id, text := range records(t, n.engine.store) {
		record := []byte(text)
		if err := CheckRecord(id, record); err != nil {
			t.Fatal(err)
		}
		for i := range record {
			record[i] ^= 1
			if err := CheckRecord(id, record); !errors.Is(err, ErrRecord) {
				t.Errorf("byte %d: %v", i, err)
			}
			record[i] ^= 1
			if err := CheckRecord(id, record[:i]); !errors.Is(err, ErrRecord) {
				t.Errorf("%d bytes: %v", i, err)
			}
		}
		if err := CheckRecord(id, append(record, 0)); !errors.Is(err, ErrRecord) {
			t.Errorf("one byte more: %v", err)
		}
		id[3]++
		if err := CheckRecord(id, record); !errors.Is(err, ErrRecord) {
			t.Errorf("the record of another run: %v", err)
		}
	}
}

// TestUnreadableApproval: a value that no JSON text stands for would be a row that cannot be read back.
func TestUnreadableApproval(t *testing.T) {
	n := open(t, Config{Store: NewMemoryStore()})
	id := submit(t, n, "key")
	if _, err := n.Ask(id, canon.Object{{Name: "n", Value: canon.Int("no number")}}); !errors.Is(err, StorageFailed) {
		t.Errorf("error %v", err)
	}
	if in := inspect(t, n, id); in.Run.Status() != Queued || len(in.Pending) != 0 {
		t.Errorf("%+v", in)
	}
}

// FuzzReadRecord: whatever has the right checksum is read, or refused; it is written as it was read.
func FuzzReadRecord(f *testing.F) {
	n := open(f, Config{Store: NewMemoryStore()})
	id := submit(f, n, "key")
	n.Ask(id, canon.Object{{Name: "command", Value: canon.String("ls")}})
	for _, record := range []Status{WaitingForApproval, Completed, Failed} {
		if record != WaitingForApproval {
			id = submit(f, n, record.String())
			observe(f, n, id, record)
		}
	}
	n.engine.store.Load(DefaultNamespace, func(_ RunID, record []byte) error {
		f.Add(bytes.Clone(record[recordHead:]))
		return nil
	})
	f.Fuzz(func(t *testing.T, rest []byte) {
		record := append([]byte{recordFormat}, make([]byte, recordHead-1)...)
		record = append(record, rest...)
		binary.BigEndian.PutUint64(record[1:], recordSum(id, rest))
		r, err := readRecord(id, record, &shared{})
		if err != nil {
			return
		}
		again, err := appendRecord(nil, id, r, process{})
		if err != nil {
			t.Fatal(err)
		}
		back, err := readRecord(id, again, &shared{})
		if err != nil || string(back.run.AppendJSON(nil)) != string(r.run.AppendJSON(nil)) {
			t.Errorf("%s, then %v %v", r.run.AppendJSON(nil), back, err)
		}
	})
}

// TestClosedStore: an engine outlives its store's closing, and says so.
func TestClosedStore(t *testing.T) {
	store := NewMemoryStore()
	n := open(t, Config{Store: store})
	submit(t, n, "key")
	store.Close()
	if _, err := n.Submit(Submission{Key: "other"}); !errors.Is(err, StorageFailed) || err.Error() != "Mockingbird: the store is closed; close the fake first" {
		t.Errorf("error %v", err)
	}
	if a, err := n.Submit(Submission{Key: "key"}); err != nil || !a.Replayed {
		t.Errorf("replay: %+v %v", a, err)
	}
	n.engine.Close()
	n = open(t, Config{Store: store})
	if _, err := n.Submit(Submission{}); !errors.Is(err, StorageFailed) {
		t.Errorf("a new engine on it: %v", err)
	}
	advance(t, n, time.Hour)
}
