package trace

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Read calls f for each call of a trace, until f returns an error.
func Read(r io.Reader, f func(Call) error) error {
	d := json.NewDecoder(bufio.NewReader(r))
	for n := 1; ; n++ {
		var c Call
		switch err := d.Decode(&c); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the second: it is being written
			return nil
		case err != nil:
			return fmt.Errorf("call %d: %w", n, err)
		}
		if err := f(c); err != nil {
			return err
		}
	}
}

// Text prints calls for readers: who called what, then the bodies as outlines, without envelopes and namespaces.
type Text struct {
	// Full prints everything; otherwise long values and lists are cut, and say so.
	Full bool
	// Location is that of the times. Default: local.
	Location *time.Location
}

const (
	// longest is the length of a value that is not cut.
	longest = 160
	// most is the number of lines of a body that are not cut.
	most = 24
)

// Call prints one.
func (t Text) Call(w io.Writer, n int, c *Call) error {
	var b strings.Builder
	if c.Lost > 0 {
		fmt.Fprintf(&b, "(%d calls were too many to be written)\n\n", c.Lost)
	}
	at := c.Start.Local()
	if t.Location != nil {
		at = c.Start.In(t.Location)
	}
	who := shortClient(c.Client)
	if c.User != "" {
		who += " as " + c.User
	}
	if c.Session > 0 {
		who += fmt.Sprintf(", session %d", c.Session)
	}
	fmt.Fprintf(&b, "#%d %s  %s → %s\n", n, at.Format("15:04:05.000"), who, c.VCenter)
	title := c.Method
	if c.Object.Type != "" {
		title += " on " + c.Object.Type + ":" + c.Object.Value
	}
	if c.Transport != "soap" {
		title = c.Verb + " " + c.URI
	}
	fmt.Fprintf(&b, "  → %s\n", title)
	t.body(&b, c.Request)
	outcome := fmt.Sprint(c.Status)
	if c.Status == 0 {
		outcome = "no answer"
	}
	if c.Fault != "" {
		outcome += " " + c.Fault
	}
	if len(c.Rules) > 0 {
		outcome += " (fault: " + strings.Join(c.Rules, ", ") + ")"
	}
	fmt.Fprintf(&b, "  ← %s in %s, %d bytes\n", outcome, rounded(c.Duration), c.Answer.Size)
	t.body(&b, c.Answer)
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func rounded(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Second:
		return d.Round(time.Second)
	case d > 10*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// shortClient is a User-Agent without what follows the first product.
func shortClient(agent string) string {
	name, _, _ := strings.Cut(agent, " ")
	if name == "" {
		return "(no name)"
	}
	return name
}

func (t Text) body(b *strings.Builder, m Message) {
	lines := outline(m.Body)
	rest := 0
	if !t.Full && len(lines) > most {
		rest = len(lines) - most
		lines = lines[:most]
	}
	for _, l := range lines {
		if runes := []rune(l); !t.Full && len(runes) > longest {
			l = fmt.Sprintf("%s … (%d more characters)", string(runes[:longest]), len(runes)-longest)
		}
		b.WriteString("      " + l + "\n")
	}
	if rest > 0 {
		fmt.Fprintf(b, "      … %d more lines\n", rest)
	}
	if m.Cut {
		b.WriteString("      (the rest is not in the trace)\n")
	}
}

// outline returns a body as indented lines "name: value".
func outline(body string) []string {
	trimmed := strings.TrimSpace(body)
	switch {
	case trimmed == "":
		return nil
	case trimmed[0] == '<':
		if root, err := parseXML(trimmed); err == nil {
			var lines []string
			content(root).lines(&lines, "")
			return lines
		}
	default:
		var v any
		if json.Unmarshal([]byte(trimmed), &v) == nil {
			var lines []string
			jsonLines(&lines, "", "", v)
			return lines
		}
	}
	return strings.Split(strings.Map(printable, trimmed), "\n")
}

func printable(r rune) rune {
	if unicode.IsPrint(r) || r == '\n' {
		return r
	}
	return '·'
}

// node is an XML element without namespaces.
type node struct {
	name, kind, text string // kind is its attribute "type": of a reference, or else xsi:type
	reference        bool
	children         []*node
}

func parseXML(text string) (*node, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	root := &node{}
	stack := []*node{root}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local}
			for _, a := range token.Attr {
				if a.Name.Local == "type" {
					_, n.kind, _ = strings.Cut(":"+a.Value, ":")
					if i := strings.LastIndexByte(n.kind, ':'); i >= 0 {
						n.kind = n.kind[i+1:]
					}
					if n.reference = a.Name.Space == ""; n.reference {
						break
					}
				}
			}
			top.children = append(top.children, n)
			stack = append(stack, n)
		case xml.EndElement:
			top.text = strings.TrimSpace(top.text)
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(token)
		}
	}
	if len(root.children) == 0 {
		return nil, errors.New("no element")
	}
	return root.children[0], nil
}

// content is what is in the body of an envelope: the arguments or the result, or else the fault.
func content(n *node) *node {
	for _, c := range n.children {
		if c.name == "Body" && len(c.children) > 0 {
			return c.children[0]
		}
	}
	return n
}

func (n *node) lines(all *[]string, indent string) {
	for _, c := range n.children {
		if c.name == "_this" || c.name == "options" && len(c.children) == 0 {
			continue // in the title, or nothing
		}
		c = c.property()
		line := indent + c.name
		if c.kind != "" && !c.reference && len(c.children) > 0 {
			line += " (" + c.kind + ")"
		}
		value := strings.Map(printable, c.text)
		if c.reference && value != "" {
			value = c.kind + ":" + value
		}
		switch {
		case len(c.children) == 0:
			*all = append(*all, strings.ReplaceAll(line+": "+value, "\n", " "))
		case len(c.children) == 1 && c.children[0].reference && len(c.children[0].children) == 0:
			*all = append(*all, fmt.Sprintf("%s.%s: %s:%s", line, c.children[0].name, c.children[0].kind, c.children[0].text))
		default:
			*all = append(*all, line+":")
			c.lines(all, indent+"  ")
		}
	}
	if len(n.children) == 0 && n.text != "" {
		*all = append(*all, indent+strings.Map(printable, n.text))
	}
}

// property returns a property as an element of its name: that a name and a value belong together is clear.
func (n *node) property() *node {
	if (n.name != "propSet" && n.name != "changeSet") || len(n.children) < 2 {
		return n
	}
	name, val := n.children[len(n.children)-2], n.children[len(n.children)-1]
	if name.name == "op" { // of a change: name, op, val
		name = n.children[0]
	}
	if name.name != "name" || val.name != "val" {
		return n
	}
	of := *val
	of.name = name.text
	return &of
}

func jsonLines(all *[]string, indent, name string, v any) {
	label := indent + name
	if name != "" {
		label += ": "
	}
	switch v := v.(type) {
	case map[string]any:
		if name != "" {
			*all = append(*all, indent+name+":")
			indent += "  "
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			jsonLines(all, indent, key, v[key])
		}
	case []any:
		*all = append(*all, fmt.Sprintf("%s(%d)", label, len(v)))
		for _, e := range v {
			jsonLines(all, indent+"  ", "-", e)
		}
	default:
		*all = append(*all, label+strings.ReplaceAll(strings.Map(printable, fmt.Sprint(v)), "\n", " "))
	}
}
