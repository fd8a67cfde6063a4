package dialect

import (
	"bytes"
)

// tag is a start or end tag of a document that Go's encoder wrote: it has no comments, no CDATA, no empty-element tags, and <
// and > only at tags.
type tag struct {
	name       []byte // without its prefix
	attributes []byte
	start, end int // the tag is doc[start:end]
	close      bool
}

// next returns the first tag at or after an offset.
func next(doc []byte, from int) (tag, bool) {
	for {
		i := bytes.IndexByte(doc[from:], '<')
		if i < 0 {
			return tag{}, false
		}
		start := from + i
		n := bytes.IndexByte(doc[start:], '>')
		if n < 0 {
			return tag{}, false
		}
		t := tag{start: start, end: start + n + 1}
		inside := doc[start+1 : start+n]
		if len(inside) == 0 || inside[0] == '?' {
			from = t.end
			continue
		}
		if inside[0] == '/' {
			t.close, inside = true, inside[1:]
		}
		t.name, t.attributes, _ = bytes.Cut(inside, []byte(" "))
		if _, local, ok := bytes.Cut(t.name, []byte(":")); ok {
			t.name = local
		}
		return t, true
	}
}

// xsiType returns the type that a start tag names, without its prefix; nil when it names none. vcsim writes the attribute as
// xsi:type and as _XMLSchema-instance:type.
func (t tag) xsiType() []byte {
	for _, key := range []string{`xsi:type="`, `XMLSchema-instance:type="`} {
		if _, rest, ok := bytes.Cut(t.attributes, []byte(key)); ok {
			value, _, _ := bytes.Cut(rest, []byte(`"`))
			if _, local, ok := bytes.Cut(value, []byte(":")); ok {
				return local
			}
			return value
		}
	}
	return nil
}
