package engine

// queue is a run's event queue while nobody waits for its items: what was
// emitted and not given to a subscriber yet. It never changes.
type queue struct {
	frames *frames
	length int
	bytes  int
	closed bool // the end marker stands behind the last frame
}

// frames is shared by the queues that grew from one another. The longest of
// them may append in place; another one, left over from an older world, copies first.
type frames struct {
	list [][]byte
}

var emptyQueue = &queue{frames: &frames{}}

func (q *queue) items() [][]byte { return q.frames.list[:q.length] }

func (q *queue) with(frame []byte) *queue {
	shared := q.frames
	if q.length < len(shared.list) || q == emptyQueue {
		shared = &frames{list: append(make([][]byte, 0, q.length+4), q.items()...)}
	}
	shared.list = append(shared.list, frame)
	return &queue{frames: shared, length: q.length + 1, bytes: q.bytes + len(frame)}
}

func (q *queue) withEnd() *queue {
	closed := *q
	closed.closed = true
	return &closed
}
