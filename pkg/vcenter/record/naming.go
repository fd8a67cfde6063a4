package record

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
)

// naming makes names that a topology takes, pseudonyms or the vCenter's own, and keeps what is to be said of it.
type naming struct {
	pseudonyms *Pseudonyms
	warnings   []string
	told       map[string]bool
}

// warn says something once.
func (n *naming) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if n.told == nil {
		n.told = map[string]bool{}
	}
	if !n.told[text] {
		n.told[text] = true
		n.warnings = append(n.warnings, text)
	}
}

// name is for an object of the inventory.
func (n *naming) name(kind, name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain // a vCenter escapes what a path needs
	}
	if n.pseudonyms != nil {
		return n.pseudonyms.Name(kind, name)
	}
	clean := strings.TrimSpace(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\%{}`, r) || unicode.IsControl(r) {
			return '-'
		}
		return r
	}, name))
	if len(clean) > 80 {
		clean = strings.TrimSpace(strings.ToValidUTF8(clean[:80], ""))
	}
	if clean != name {
		n.warn("%s %q is recorded as %q: a topology does not take its name", kind, name, clean)
	}
	return clean
}

// path is name for each part of a path.
func (n *naming) path(kind, path string) string {
	if path == "" {
		return ""
	}
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = n.name(kind, parts[i])
	}
	return strings.Join(parts, "/")
}

// dns is for a DNS name.
func (n *naming) dns(kind, name string) string {
	if n.pseudonyms == nil {
		return name
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return n.pseudonyms.Name(kind, name)
	}
	return n.pseudonyms.DNS(kind, name)
}

func (n *naming) uuid(id string) string {
	if n.pseudonyms != nil {
		return n.pseudonyms.UUID(id)
	}
	return strings.ToLower(id)
}

// label makes a DNS label of anything.
func label(name string) string {
	mapped := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	mapped = strings.Trim(mapped, "-")
	if len(mapped) > 63 {
		mapped = strings.Trim(mapped[:63], "-")
	}
	if mapped == "" {
		return "vcenter"
	}
	return mapped
}
