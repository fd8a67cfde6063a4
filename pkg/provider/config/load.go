package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxSize is far beyond any real file and keeps a wrong path from filling the memory.
const maxSize = 1 << 20

// Error is everything that is wrong with a file, one line each, in the order of the file where a line is known.
type Error struct {
	Name     string
	Problems []string
}

// Error lists the problems, each after the file's name.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = e.Name + ":" + p
	}
	return strings.Join(lines, "\n")
}

// LoadFile reads the named file.
func LoadFile(name string) (*Config, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cloud config: %w", err)
	}
	return Load(name, data)
}

// Load reads data; name stands for it in errors, which are of type [*Error].
func Load(name string, data []byte) (*Config, error) {
	p := &problems{}
	f := parse(data, p)
	if f == nil {
		return nil, &Error{Name: name, Problems: p.lines()}
	}
	cfg := f.resolve(p)
	if len(p.list) > 0 {
		return nil, &Error{Name: name, Problems: p.lines()}
	}
	return cfg, nil
}

// parse decodes data, noting every problem. It returns nil when there is nothing worth checking further.
func parse(data []byte, p *problems) *file {
	if len(data) > maxSize {
		p.add(0, "file is larger than %d bytes", maxSize)
		return nil
	}
	if looksLikeINI(data) {
		p.add(1, "this is an INI file; the YAML form is needed")
		return nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		p.yaml(err)
		return nil
	}
	if len(doc.Content) == 0 {
		p.add(0, "file is empty")
		return nil
	}
	checkKeys(doc.Content[0], reflect.TypeFor[file](), "", p)
	f := &file{}
	if err := doc.Decode(f); err != nil {
		p.yaml(err)
		return nil // what was not decoded would be called missing
	}
	f.lines(doc.Content[0], p)
	return f
}

// looksLikeINI reports whether the first line that says anything is a section header.
func looksLikeINI(data []byte) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' || line[0] == ';' {
			continue
		}
		return line[0] == '[' && bytes.HasSuffix(line, []byte("]"))
	}
	return false
}

// lines tells p where each key stands, for the problems that the checks find.
func (f *file) lines(root *yaml.Node, p *problems) {
	p.at = map[string]int{}
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		if n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := join(path, n.Content[i].Value)
			p.at[key] = n.Content[i].Line
			walk(n.Content[i+1], key)
		}
	}
	walk(root, "")
}

// asTypeError returns the single messages of yaml's collected errors.
func asTypeError(err error) []string {
	var te *yaml.TypeError
	if errors.As(err, &te) {
		return te.Errors
	}
	return []string{err.Error()}
}
