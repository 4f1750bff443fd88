package canon

import "crypto/sha256"

// flushSize is how much canonical text is gathered before it is hashed: large
// enough for the hash, small enough for the first-level cache.
const flushSize = 8 << 10

// Fingerprint returns the fingerprint of a request: the SHA-256 of the
// canonical form of {"body": BODY, "gateway_session_key": sessionKey}, where
// BODY is the JSON text raw. The error is a [*SyntaxError], or [ErrSurrogate]
// when a string in it cannot be encoded.
func Fingerprint(raw []byte, sessionKey string) ([32]byte, error) {
	d := Get()
	defer d.Release()
	if err := d.Parse(raw); err != nil {
		return [32]byte{}, err
	}
	return d.Fingerprint(sessionKey)
}

// Fingerprint is the function [Fingerprint] of the text that was parsed last.
// The error is [ErrSurrogate], or [ErrInvalid] when there is no such text.
func (d *Document) Fingerprint(sessionKey string) ([32]byte, error) {
	if len(d.nodes) == 0 {
		return [32]byte{}, ErrInvalid
	}
	if d.hash == nil {
		d.hash = sha256.New()
	}
	d.hash.Reset()
	out, err := d.appendCanonical(append(d.out[:0], `{"body":`...), 0)
	d.order = d.order[:0]
	if err == nil {
		out = append(out, `,"gateway_session_key":`...)
		out, err = appendCanonicalString(out, sessionKey)
	}
	d.out = out[:0]
	if err != nil {
		return [32]byte{}, err
	}
	d.hash.Write(append(out, '}'))
	d.hash.Sum(d.sum[:0])
	return d.sum, nil
}

// appendCanonical appends the canonical form of the value at i. Now and then
// it hashes what has been gathered and starts over.
func (d *Document) appendCanonical(out []byte, i uint32) ([]byte, error) {
	if len(out) >= flushSize {
		d.hash.Write(out)
		out = out[:0]
	}
	switch n := &d.nodes[i]; n.kind {
	case KindFloat:
		return AppendFloat(out, parseFloat(d.text(n))), nil
	case KindArray:
		return d.appendCanonicalArray(out, i)
	case KindObject:
		return d.appendCanonicalObject(out, i)
	default:
		return d.appendCanonicalText(out, n)
	}
}

func (d *Document) appendCanonicalArray(out []byte, i uint32) ([]byte, error) {
	var err error
	out = append(out, '[')
	first, end := i+1, d.nodes[i].end
	for child := first; child < end; child = d.next(child) {
		if child > first {
			out = append(out, ',')
		}
		if out, err = d.appendCanonical(out, child); err != nil {
			return out, err
		}
	}
	return append(out, ']'), nil
}

func (d *Document) appendCanonicalObject(out []byte, i uint32) ([]byte, error) {
	var err error
	out = append(out, '{')
	start := d.pushMembers(i)
	end := len(d.order)
	for k := start; k < end; k++ {
		m := d.order[k]
		if k > start {
			out = append(out, ',')
		}
		if out, err = d.appendCanonicalText(out, &d.nodes[m.name]); err != nil {
			return out, err
		}
		out = append(out, ':')
		if out, err = d.appendCanonical(out, m.value); err != nil {
			return out, err
		}
	}
	d.order = d.order[:start]
	return append(out, '}'), nil
}

// appendCanonicalText appends the canonical form of anything but a float or a
// container. Most often that is the text as it stands in the document.
func (d *Document) appendCanonicalText(out []byte, n *node) ([]byte, error) {
	if n.flags&(rewrite|inNames) != 0 || n.end-n.start >= flushSize {
		return d.appendRewritten(out, n)
	}
	return append(out, d.raw[n.start:n.end]...), nil
}

// appendRewritten appends a text that takes more than copying: one that is not
// its own canonical form, or one so large that it is hashed in place.
func (d *Document) appendRewritten(out []byte, n *node) ([]byte, error) {
	switch {
	case n.flags&inNames != 0:
		return appendCanonicalString(out, d.text(n))
	case n.flags&rewrite != 0:
		return appendCanonicalRaw(out, d.text(n))
	}
	d.hash.Write(out)
	d.hash.Write(d.raw[n.start:n.end])
	return out[:0], nil
}
