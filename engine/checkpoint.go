package engine

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cespare/xxhash/v2"
)

// DefaultCheckpoints is how many checkpoints a namespace keeps of its accepted mutations.
const DefaultCheckpoints = 1000

// Errors about checkpoints, for errors.Is. Nothing has changed then.
var (
	// ErrNoCheckpoint: the namespace has no such checkpoint, or no longer.
	ErrNoCheckpoint = errors.New("no such checkpoint: it was never made, was deleted, or is older than those that are kept")
	// ErrOtherNamespace: the checkpoint is of another namespace.
	ErrOtherNamespace = errors.New("the checkpoint belongs to another namespace")
	// ErrCheckpointInUse: a branch is at the checkpoint.
	ErrCheckpointInUse = errors.New("a branch is at the checkpoint, so it cannot be deleted")
)

// CheckpointID is the identity of a checkpoint: "cp_" and 32 lowercase hexadecimal digits. Equal seeds give equal
// ones. Of one namespace, they sort by time.
type CheckpointID string

const checkpointPrefix = "cp_"

// Checkpoint is a moment of a namespace: after an accepted mutation, or where one was asked for.
type Checkpoint struct {
	ID        CheckpointID
	Parent    CheckpointID // "" for the first one; it need not be there any more
	Branch    string       // that it was made on
	Namespace string
	At        time.Time // on the namespace's clock
	Pinned    bool      // it was asked for
}

// mintCheckpoint derives the id of the numbered checkpoint of a namespace.
func mintCheckpoint(seed uint64, namespace string, sequence uint64) CheckpointID {
	if sequence == 0 {
		return ""
	}
	var b [17 + 64]byte
	binary.LittleEndian.PutUint64(b[0:], seed)
	binary.LittleEndian.PutUint64(b[8:], sequence)
	b[16] = 2
	n := 17 + copy(b[17:], namespace)
	var id [16]byte
	binary.BigEndian.PutUint64(id[0:], sequence)
	binary.BigEndian.PutUint64(id[8:], xxhash.Sum64(b[:n]))
	var text [len(checkpointPrefix) + 32]byte
	return CheckpointID(hex.AppendEncode(append(text[:0], checkpointPrefix...), id[:]))
}

// sequenceOf is the sequence in an id of the namespace's, and 0 for every other text.
func sequenceOf(seed uint64, namespace string, id CheckpointID) uint64 {
	if len(id) != len(checkpointPrefix)+32 {
		return 0
	}
	b, err := hex.DecodeString(string(id[len(checkpointPrefix):]))
	if err != nil {
		return 0
	}
	sequence := binary.BigEndian.Uint64(b)
	if mintCheckpoint(seed, namespace, sequence) != id {
		return 0
	}
	return sequence
}

func (n *Namespace) checkpointID(sequence uint64) CheckpointID {
	return mintCheckpoint(n.engine.config.Seed, n.name, sequence)
}

func (n *Namespace) checkpoint(m *moment) Checkpoint {
	return Checkpoint{
		ID: n.checkpointID(m.sequence), Parent: n.checkpointID(m.parent), Branch: m.branch,
		Namespace: n.name, At: time.Unix(0, m.at).UTC(), Pinned: m.pinned,
	}
}

// Recording returns a view of the namespace that remembers the checkpoint after its latest accepted mutation. Unlike
// other views it is for one goroutine.
func (n *Namespace) Recording() *Namespace {
	return &Namespace{state: n.state, who: n.who, acting: n.acting, recording: true}
}

// Recorded is the checkpoint that a view of Recording remembers, "" if there is none.
func (n *Namespace) Recorded() CheckpointID { return n.recorded }

func (n *Namespace) record(sequence uint64) {
	if n.recording {
		n.recorded = n.checkpointID(sequence)
	}
}

// accepted makes a checkpoint after an accepted mutation: an admission, a stop, an approval, a steer, or a control that changes
// the state (CONTROL.md, "Namespaces").
func (n *Namespace) accepted(now int64) {
	if n.timeline.keep > 0 {
		n.record(n.timeline.add(n.world, now, false))
	}
}

// Checkpoint makes a checkpoint of now. It is pinned: the accepted mutations that follow do not make it fall out, only
// later ones that are pinned do, of which as many are kept.
func (n *Namespace) Checkpoint() (Checkpoint, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, err := n.settle()
	if err != nil {
		return Checkpoint{}, err
	}
	sequence := n.timeline.add(n.world, now, true)
	n.record(sequence)
	return n.checkpoint(n.timeline.find(sequence)), nil
}

// Checkpoints returns those that are kept, the oldest first.
func (n *Namespace) Checkpoints() []Checkpoint { return n.LatestCheckpoints(math.MaxInt) }

// LatestCheckpoints is Checkpoints, but returns the latest ones, at most so many.
func (n *Namespace) LatestCheckpoints(most int) []Checkpoint {
	n.mu.Lock()
	defer n.mu.Unlock()
	moments := n.timeline.moments()
	moments = moments[max(0, len(moments)-most):]
	list := make([]Checkpoint, len(moments))
	for i, m := range moments {
		list[i] = n.checkpoint(m)
	}
	return list
}

// DeleteCheckpoint forgets a checkpoint. It fails with ErrNoCheckpoint, ErrOtherNamespace or ErrCheckpointInUse.
func (n *Namespace) DeleteCheckpoint(id CheckpointID) error {
	return n.whose(id, n.deleteCheckpoint(id))
}

func (n *Namespace) deleteCheckpoint(id CheckpointID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return refuse(Closed)
	}
	m, err := n.moment(id)
	if err != nil {
		return err
	}
	if n.timeline.isHead(m.sequence) {
		return ErrCheckpointInUse
	}
	n.timeline.remove(m)
	n.changed()
	return nil
}

func (n *Namespace) moment(id CheckpointID) (*moment, error) {
	if m := n.timeline.find(sequenceOf(n.engine.config.Seed, n.name, id)); m != nil {
		return m, nil
	}
	return nil, ErrNoCheckpoint
}

// whose tells the checkpoint of another namespace from one that is nowhere.
func (n *Namespace) whose(id CheckpointID, err error) error {
	if !errors.Is(err, ErrNoCheckpoint) {
		return err
	}
	for _, name := range n.engine.Namespaces() {
		if name != n.name && sequenceOf(n.engine.config.Seed, name, id) > 0 {
			return fmt.Errorf("%w, %s", ErrOtherNamespace, name)
		}
	}
	return err
}
