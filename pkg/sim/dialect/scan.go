package dialect

import (
	"bytes"
)

// tag is a start or end tag of a document from Go's encoder, which has no comments, CDATA or empty-element tags, and < and > only
// in tags.
type tag struct {
	name       []byte // without the prefix
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

// xsiType returns the type of a start tag, without its prefix, or nil. vcsim writes the attribute as xsi:type and as
// _XMLSchema-instance:type.
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
