package model

import "github.com/hermesfake/hermesfake/canon"

func member(name string, v canon.Value) canon.Member { return canon.Member{Name: name, Value: v} }

func text(name, s string) canon.Member { return member(name, canon.String(s)) }

// with is o with a member set: in place where it is there already, else at the end. o itself stays as it is.
func with(o canon.Object, m canon.Member) canon.Object {
	out := append(canon.Object{}, o...)
	for i := range out {
		if out[i].Name == m.Name {
			out[i].Value = m.Value
			return out
		}
	}
	return append(out, m)
}

// without is o less a member.
func without(o canon.Object, name string) canon.Object {
	out := canon.Object{}
	for _, m := range o {
		if m.Name != name {
			out = append(out, m)
		}
	}
	return out
}

func wire(v canon.Value) string { return string(canon.AppendWire(nil, v)) }

// characters counts the code points of a canon.String's text, where a lone surrogate is one too.
func characters(s string) int {
	n := 0
	for i := range len(s) {
		if starts(s[i]) {
			n++
		}
	}
	return n
}

// cut is the first n characters of s.
func cut(s string, n int) string {
	for i := range len(s) {
		if starts(s[i]) {
			if n == 0 {
				return s[:i]
			}
			n--
		}
	}
	return s
}

// starts tells whether a byte starts a character.
func starts(b byte) bool { return b&0xC0 != 0x80 }

// isFalse tells the JSON false from everything else that Python takes for false.
func isFalse(v canon.Value) bool {
	b, ok := v.(canon.Bool)
	return ok && !bool(b)
}

// given is a member that is there and not null.
func given(o canon.Object, name string) (canon.Value, bool) {
	v, ok := o.Get(name)
	if _, null := v.(canon.Null); null {
		return nil, false
	}
	return v, ok
}
