package topology

import (
	"fmt"
	"slices"
	"strings"
)

// maxPattern bounds what is numbered in lists: longer than any tag, network or address may be, and so for the checks to
// refuse as it stands.
const maxPattern = 256

// text is a replica's text: numbered in place of {n}, if it has one.
func (g replicas) text(key, pattern string, n int) string {
	if !strings.Contains(pattern, "{n") {
		return pattern
	}
	return g.textAt(g.at.key(key), pattern, n)
}

func (g replicas) textAt(at *path, pattern string, n int) string {
	text, replaced := number(pattern, n)
	if replaced && n == 0 {
		g.field(at, "", "has {n}, which numbers replicas, but there is no replicas: beside it")
	}
	return text
}

func isPattern(s string) bool { return len(s) <= maxPattern && strings.Contains(s, "{n") }

// tags numbers the names of tags. Without {n} in any, all replicas share the list.
func (g replicas) tags(tags []Tag, n int) []Tag {
	if !slices.ContainsFunc(tags, func(t Tag) bool { return isPattern(t.Name) }) {
		return tags
	}
	tags = slices.Clone(tags)
	for i := range tags {
		if isPattern(tags[i].Name) {
			tags[i].Name = g.textAt(g.at.key("tags").item(i).key("name"), tags[i].Name, n)
		}
	}
	return tags
}

// nics gives each replica its own NICs, as their identities differ.
func (g replicas) nics(nics []NIC, n int) []NIC {
	nics = slices.Clone(nics)
	for i := range nics {
		nic := &nics[i]
		nic.Addresses = slices.Clone(nic.Addresses)
		if isPattern(nic.Network) {
			nic.Network = g.textAt(g.at.key("nics").item(i).key("network"), nic.Network, n)
		}
		for j, address := range nic.Addresses {
			if isPattern(address) {
				nic.Addresses[j] = g.textAt(g.at.key("nics").item(i).key("addresses").item(j), address, n)
			}
		}
	}
	return nics
}

// number replaces {n}, {nn}, {nnn} … in pattern by n, zero-padded to as many digits.
func number(pattern string, n int) (text string, replaced bool) {
	if !strings.Contains(pattern, "{n") {
		return pattern, false
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(pattern, "{n")
		b.WriteString(before)
		if !ok {
			return b.String(), replaced
		}
		digits := len(after) - len(strings.TrimLeft(after, "n")) + 1
		if rest, closed := strings.CutPrefix(after[digits-1:], "}"); closed && digits <= 9 {
			fmt.Fprintf(&b, "%0*d", digits, n)
			replaced, pattern = true, rest
			continue
		}
		b.WriteString("{n")
		pattern = after
	}
}
