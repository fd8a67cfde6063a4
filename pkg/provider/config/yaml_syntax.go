package config

import (
	"bytes"
	"cmp"
	"errors"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// syntax tells what the decoder says; root is nil before there are nodes.
func (r *yamlReader) syntax(err error, data []byte, root *yaml.Node) {
	messages := []string{err.Error()}
	if te, ok := errors.AsType[*yaml.TypeError](err); ok {
		messages = te.Errors
	}
	for _, text := range messages {
		at := position{file: r.name}
		at.line, text = strict.Syntax(data, text)
		if key := complexKey(root); key != nil && strings.HasPrefix(text, "invalid map key") {
			at.line, at.column = key.Line, key.Column
			text = "a key must be text, not " + strict.Describe(resolveAlias(key))
		}
		text, hint := withoutValues(text)
		r.p.at(at, cmp.Or(hint, tabHint(text, at.line, data)), "%s", text)
	}
}

// values are the parts of the library's messages that are of the text it reads, which may be a password.
var values = regexp.MustCompile("(anchor '[^']*')|(`[^`]*` as)")

// withoutValues is a message of the library without what it quotes, and what may be meant.
func withoutValues(text string) (message, hint string) {
	if strings.HasPrefix(text, "unknown anchor ") {
		hint = "a value that begins with * is in quotes"
	}
	return values.ReplaceAllStringFunc(text, func(quoted string) string {
		if strings.HasPrefix(quoted, "anchor") {
			return "anchor"
		}
		return "text as"
	}), hint
}

// complexKey returns the first key below n that is no text, which the decoder refuses without a line.
func complexKey(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && resolveAlias(child).Kind != yaml.ScalarNode {
			return child
		}
		if key := complexKey(child); key != nil {
			return key
		}
	}
	return nil
}

// tabHint explains the message for a tab, which names none.
func tabHint(text string, line int, data []byte) string {
	if !strings.Contains(text, "cannot start any token") {
		return ""
	}
	lines := bytes.Split(data, []byte("\n"))
	for i := max(line-1, 0); i < min(line+1, len(lines)); i++ {
		if bytes.HasPrefix(bytes.TrimLeft(lines[i], " "), []byte("\t")) {
			return "indent with spaces, not with tabs"
		}
	}
	return ""
}
