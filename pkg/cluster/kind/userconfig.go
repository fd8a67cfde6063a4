package kind

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// userConfig is the user's kind configuration, with the lines of it.
type userConfig struct {
	file string
	v1alpha4.Cluster
	root *yaml.Node
}

// parseUser reads a configuration strictly.
func parseUser(file string, text []byte) (*userConfig, error) {
	if file == "" {
		file = "kind configuration"
	}
	u := &userConfig{file: file}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, u.syntax(err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, u.at(nil, "is no kind configuration: want kind: Cluster and apiVersion: kind.x-k8s.io/v1alpha4")
	}
	u.root = doc.Content[0]
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&u.Cluster); err != nil {
		return nil, u.syntax(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, u.at(nil, "has more than one document: kind reads one")
	}
	switch {
	case u.APIVersion != "kind.x-k8s.io/v1alpha4":
		return nil, u.at(u.find("apiVersion"), "apiVersion %q: want kind.x-k8s.io/v1alpha4", u.APIVersion)
	case u.Kind != "Cluster":
		return nil, u.at(u.find("kind"), "kind %q: want Cluster", u.Kind)
	}
	return u, nil
}

// syntax tells what the decoder has found, by lines of the file.
func (u *userConfig) syntax(err error) error {
	var several *yaml.TypeError
	if !errors.As(err, &several) {
		return u.line(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var errs []error
	for _, e := range several.Errors {
		errs = append(errs, u.line(e))
	}
	return errors.Join(errs...)
}

func (u *userConfig) line(said string) error {
	rest, numbered := strings.CutPrefix(said, "line ")
	if number, what, ok := strings.Cut(rest, ": "); numbered && ok {
		// "field x not found in type v1alpha4.Cluster": the type is nobody's business.
		if field, _, ok := strings.Cut(what, " not found in type "); ok {
			what = strings.TrimPrefix(field, "field ") + ": kind's configuration has none of that name"
		}
		return fmt.Errorf("%s:%s: %s", u.file, number, what)
	}
	return fmt.Errorf("%s: %s", u.file, said)
}

// at is an error about the line of n; nil is the file as a whole.
func (u *userConfig) at(n *yaml.Node, format string, args ...any) error {
	if n == nil {
		return fmt.Errorf("%s: %s", u.file, fmt.Sprintf(format, args...))
	}
	return fmt.Errorf("%s:%d: %s", u.file, n.Line, fmt.Sprintf(format, args...))
}

// find returns the node at a path of keys (string) and indices (int), or the deepest one on the way.
func (u *userConfig) find(path ...any) *yaml.Node { return find(u.root, path...) }

func find(n *yaml.Node, path ...any) *yaml.Node {
	for _, step := range path {
		var next *yaml.Node
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		switch step := step.(type) {
		case string:
			if n.Kind == yaml.MappingNode {
				for i := 0; i+1 < len(n.Content); i += 2 {
					if n.Content[i].Value == step {
						next = n.Content[i+1]
					}
				}
			}
		case int:
			if n.Kind == yaml.SequenceNode && step < len(n.Content) {
				next = n.Content[step]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}
