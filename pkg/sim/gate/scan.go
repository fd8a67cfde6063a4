package gate

import (
	"bytes"
	"html"

	"github.com/vmware/govmomi/vim25/types"
)

// scanner iterates over the start tags of an XML text. It allocates nothing, checks nothing and never fails: the simulator
// rejects malformed texts.
type scanner struct {
	rest []byte // the text after the last tag
}

// tag is a start tag.
type tag struct {
	prefix, name []byte
	attrs        []byte
}

// next returns the next start tag; ok is false at the end.
func (s *scanner) next() (t tag, ok bool) {
	for {
		i := bytes.IndexByte(s.rest, '<')
		if i < 0 || i+1 >= len(s.rest) {
			s.rest = nil
			return tag{}, false
		}
		s.rest = s.rest[i+1:]
		switch {
		case bytes.HasPrefix(s.rest, []byte("!--")):
			s.skip("-->")
		case bytes.HasPrefix(s.rest, []byte("![CDATA[")):
			s.skip("]]>")
		case s.rest[0] == '!', s.rest[0] == '?', s.rest[0] == '/':
			s.skip(">")
		default:
			return s.tag(), true
		}
	}
}

// skip moves behind the next end.
func (s *scanner) skip(end string) {
	i := bytes.Index(s.rest, []byte(end))
	if i < 0 {
		s.rest = nil
		return
	}
	s.rest = s.rest[i+len(end):]
}

// tag reads a start tag; s.rest begins after its "<".
func (s *scanner) tag() (t tag) {
	end, quote := len(s.rest), byte(0)
	for i, c := range s.rest {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
			continue
		case c == '"', c == '\'':
			quote = c
			continue
		case c != '>':
			continue
		}
		end = i
		break
	}
	text := s.rest[:end]
	s.rest = s.rest[min(end+1, len(s.rest)):]
	text = bytes.TrimSuffix(text, []byte("/"))
	if i := bytes.IndexAny(text, " \t\r\n"); i >= 0 {
		text, t.attrs = text[:i], text[i:]
	}
	if i := bytes.IndexByte(text, ':'); i >= 0 {
		t.prefix, text = text[:i], text[i+1:]
	}
	t.name = text
	return t
}

// text returns what follows the tag up to the next one.
func (s *scanner) text() string {
	i := bytes.IndexByte(s.rest, '<')
	if i < 0 {
		return ""
	}
	return html.UnescapeString(string(bytes.TrimSpace(s.rest[:i])))
}

// attr returns the value of the attribute with exactly that name, including the prefix.
func (t tag) attr(name string) string {
	rest := t.attrs
	for {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		i := bytes.IndexByte(rest, '=')
		if i < 0 {
			return ""
		}
		key := bytes.TrimSpace(rest[:i])
		rest = bytes.TrimLeft(rest[i+1:], " \t\r\n")
		if len(rest) == 0 {
			return ""
		}
		end := bytes.IndexByte(rest[1:], rest[0])
		if end < 0 {
			return ""
		}
		if string(key) == name {
			return html.UnescapeString(string(rest[1 : 1+end]))
		}
		rest = rest[end+2:]
	}
}

// soapCall is the call in a SOAP envelope.
type soapCall struct {
	method    string
	namespace string
	this      types.ManagedObjectReference
}

// readSOAP reads the first element in the Body of an envelope, and the _this in it.
func readSOAP(envelope []byte) (c soapCall) {
	s := scanner{rest: envelope}
	for {
		t, ok := s.next()
		if !ok {
			return c
		}
		if string(t.name) == "Body" {
			break
		}
	}
	t, ok := s.next()
	if !ok || len(t.name) == 0 || len(t.name) > maxName {
		return c
	}
	c.method = string(bytes.ToValidUTF8(t.name, []byte("�")))
	declared := "xmlns"
	if len(t.prefix) > 0 {
		declared += ":" + string(t.prefix)
	}
	c.namespace = t.attr(declared)
	if t, ok = s.next(); ok && string(t.name) == "_this" {
		c.this = types.ManagedObjectReference{Type: t.attr("type"), Value: s.text()}
	}
	return c
}

// mentioned returns the references in a text: the elements with an attribute "type".
func mentioned(envelope []byte) []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	s := scanner{rest: envelope}
	for {
		t, ok := s.next()
		if !ok {
			return refs
		}
		if len(t.attrs) == 0 {
			continue
		}
		if kind := t.attr("type"); kind != "" {
			refs = append(refs, types.ManagedObjectReference{Type: kind, Value: s.text()})
		}
	}
}

// faultType returns the type of the fault at the beginning of an answer, or "".
func faultType(answer []byte) string {
	s := scanner{rest: answer}
	for {
		t, ok := s.next()
		if !ok {
			return ""
		}
		if string(t.name) == "detail" {
			break
		}
	}
	t, ok := s.next()
	if !ok {
		return ""
	}
	if i := bytes.Index(t.attrs, []byte("xsi:type=")); i >= 0 {
		return t.attr("xsi:type")
	}
	return string(bytes.TrimSuffix(t.name, []byte("Fault")))
}
