package engine

// OnChange has the namespace send on c, without waiting, when something of it may have changed; c
// should have room for one. It does so until stop is called.
//
// It is told at the beginning of an operation, which holds the namespace until it is
// done: whoever looks at the namespace then sees what the operation did. Looking tells nobody.
func (n *Namespace) OnChange(c chan<- struct{}) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.observers == nil {
		n.observers = map[*chan<- struct{}]struct{}{}
	}
	key := &c
	n.observers[key] = struct{}{}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.observers, key)
		if !n.keeping() {
			n.dropTrails()
		}
	}
}

func (n *Namespace) changed() {
	for c := range n.observers {
		select {
		case *c <- struct{}{}:
		default:
		}
	}
}
