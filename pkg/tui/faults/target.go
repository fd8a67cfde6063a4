package faults

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// everything means all objects, in place of names.
const everything = "all"

// places are the keys of name=value in the field of targets.
func places() []string {
	return []string{"vcenter", "datacenter", "cluster", "host", "region", "zone", "role", "labels"}
}

// place returns the field of a selector for a key.
func place(s *api.Selector, name string) *string {
	switch name {
	case "vcenter":
		return &s.VCenter
	case "datacenter":
		return &s.Datacenter
	case "cluster":
		return &s.Cluster
	case "host":
		return &s.Host
	case "region":
		return &s.Region
	case "zone":
		return &s.Zone
	case "role":
		return &s.Role
	case "labels":
		return &s.Labels
	}
	return nil
}

// selector parses the field of targets: names, and name=value for places. all reports that the user asked for all objects.
func selector(value string) (s api.Selector, all bool, err error) {
	words, err := split(value)
	if err != nil {
		return s, false, err
	}
	for _, w := range words {
		name, value, isPlace := strings.Cut(w, "=")
		at := place(&s, name)
		switch {
		case isPlace && at == nil:
			if near := nearest.Of(name, places()); near != "" {
				return s, false, fmt.Errorf("%s= is nothing to choose by; did you mean %s=?", name, near)
			}
			return s, false, fmt.Errorf("%s= is nothing to choose by; there is %s", name, strings.Join(places(), ", "))
		case isPlace && value == "":
			return s, false, fmt.Errorf("%s= has no value", name)
		case isPlace && *at != "":
			return s, false, fmt.Errorf("%s= is there twice", name)
		case isPlace:
			*at = value
		case w == everything:
			all = true
		default:
			s.Names = append(s.Names, w)
		}
	}
	if all && len(s.Names) > 0 {
		return s, false, fmt.Errorf("%q and names exclude each other", everything)
	}
	return s, all, nil
}

// split splits text into words as a shell does: quotes keep spaces.
func split(value string) ([]string, error) {
	var words []string
	var word strings.Builder
	began, quote := false, rune(0)
	for _, r := range value {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, began = r, true
		case r == ' ':
			if began {
				words = append(words, word.String())
			}
			word.Reset()
			began = false
		default:
			word.WriteRune(r)
			began = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a %c is not closed", quote)
	}
	if began {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted returns a name as written in the field of targets.
func quoted(name string) string {
	switch {
	case !strings.ContainsAny(name, ` "'`):
		return name
	case !strings.Contains(name, "'"):
		return "'" + name + "'"
	}
	return `"` + name + `"`
}

// continues returns a completion of the last word in the field of targets: a name of the kind, a place, or one of its values.
func (k *known) continues(value, kind string) string {
	if strings.HasSuffix(value, " ") || strings.ContainsAny(value, `"'`) {
		return ""
	}
	word := value[strings.LastIndexByte(value, ' ')+1:]
	if word == "" {
		return ""
	}
	name, typed, isPlace := strings.Cut(word, "=")
	if !isPlace {
		if rest := begins(k.names(kind), word); rest != "" {
			return rest
		}
		for _, p := range append(places(), everything) {
			if rest, ok := strings.CutPrefix(p, word); ok && rest != "" {
				if p == everything {
					return rest
				}
				return rest + "="
			}
		}
		return ""
	}
	if name == "role" {
		return begins([]string{"control-plane", "worker"}, typed)
	}
	return begins(k.names(name), typed)
}

// begins returns the rest of the first word with a prefix; "" without a match, or if nothing is left.
func begins(words []string, typed string) string {
	if slices.Contains(words, typed) {
		return ""
	}
	for _, w := range words {
		if rest, ok := strings.CutPrefix(w, typed); ok && !strings.ContainsAny(w, ` "'`) {
			return rest
		}
	}
	return ""
}
