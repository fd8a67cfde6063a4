package strict

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// MaxSize is how many bytes a file may have.
const MaxSize = 1 << 20

// Parse returns the node of the one document that the text is, or nil with the reason reported.
func (r *Reader) Parse(data []byte) *yaml.Node {
	switch {
	case len(data) > MaxSize:
		r.TooLong()
		return nil
	case !utf8.Valid(data):
		r.Errorf(nil, "", "is not UTF-8 text")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF), err == nil && IsNull(document.Content[0]):
		r.Errorf(nil, "", "is empty")
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		r.Errorf(&second, "", "a second document begins here: a scenario file holds one")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(err)
		return nil
	}
	return document.Content[0]
}

// TooLong reports a file that is longer than [MaxSize].
func (r *Reader) TooLong() {
	r.Errorf(nil, "", "is longer than the %s a scenario may have", input.Size(MaxSize))
}

// syntax reports the parser's error, which tells its line in words only ("yaml: line 3: did not find …").
func (r *Reader) syntax(err error) {
	at, message := &yaml.Node{Line: 1}, strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		number, tail, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			at.Line, message = n, tail
		}
	}
	r.Errorf(at, "", "is not YAML: %s", message)
}

// IsNull tells whether a node is a key's value that was left out.
func IsNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" }

// Find returns the key's value in a mapping, with its key; nil without one.
func Find(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}
