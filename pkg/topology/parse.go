package topology

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// MaxSize is how many bytes a topology file may have: room for more than ten thousand VMs written out one by one.
const MaxSize = input.MaxFile

// parse turns the text of the latest of the sources into the node of its one document. It reports what is wrong and
// returns nil where there is nothing to go on with.
func (p *problems) parse(data []byte) *yaml.Node {
	if len(data) > MaxSize {
		p.tooLong()
		return nil
	}
	if !p.readable(data) {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF) || err == nil && isNull(document.Content[0]):
		p.whole("is empty: a topology begins with apiVersion: %s and kind: %s", APIVersion, Kind)
		return nil
	case err != nil:
		p.syntax(data, err)
		return nil
	}
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case err == nil:
		p.text(second.Line, second.Column, "a second document begins here: a topology file holds one")
	case !errors.Is(err, io.EOF):
		p.syntax(data, err)
	}
	move(document.Content[0], p.sources[len(p.sources)-1].base)
	return document.Content[0]
}

// move numbers the lines of a file that is not the first on from those before it.
func move(node *yaml.Node, lines int) {
	if lines == 0 {
		return
	}
	node.Line += lines
	for _, inner := range node.Content {
		move(inner, lines)
	}
}

// tooLong reports a file that is longer than there may be of a topology.
func (p *problems) tooLong() {
	p.whole("is longer than the %s a topology may have (replicas: makes many VMs of one entry)", input.Size(MaxSize))
}

// whole reports an error of the latest file as a whole.
func (p *problems) whole(format string, args ...any) { p.text(1, 1, fmt.Sprintf(format, args...)) }

// text reports an error at a place in the text of the latest file.
func (p *problems) text(line, column int, message string) {
	p.add(p.sources[len(p.sources)-1].base+line, column, "", "", message)
}

// readable reports bytes that no YAML may have, which the parser would refuse without saying where.
func (p *problems) readable(data []byte) bool {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		var what string
		switch {
		case r == utf8.RuneError && size == 1:
			what = "is not UTF-8 text"
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85:
			what = fmt.Sprintf("holds the control character %U", r)
		default:
			at += size
			continue
		}
		line := bytes.Count(data[:at], []byte("\n"))
		column := at - bytes.LastIndexByte(data[:at], '\n')
		p.text(line+1, column, what)
		return false
	}
	return true
}

// syntax reports the parser's error, whose position it tells in words only ("yaml: line 3: did not find …").
func (p *problems) syntax(data []byte, err error) {
	line, message := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		number, tail, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, message = n, tail
		}
	}
	if at, ok := tabbed(data, line); ok {
		p.text(line, at, "is not YAML: indented with a tab, where YAML takes spaces only")
		return
	}
	if lines := bytes.SplitN(data, []byte("\n"), line+1); line <= len(lines) && bytes.Contains(lines[line-1], []byte("${")) {
		message += ` (inside {…} and […], a parameter is quoted: "${name}")`
	}
	p.text(line, 1, "is not YAML: "+message)
}

// tabbed finds a tab in the indentation of a line: the usual reason why something that looks right is refused.
func tabbed(data []byte, line int) (column int, found bool) {
	lines := strings.SplitN(string(data), "\n", line+1)
	if line > len(lines) {
		return 0, false
	}
	text := lines[line-1]
	indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
	if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
		return tab + 1, true
	}
	return 0, false
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" }
