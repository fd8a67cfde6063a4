package store

import (
	"encoding/binary"
	"net/netip"
	"strings"
)

// text is what a text in a field of that name becomes.
func (s *scrubber) text(field, text string) string {
	if text == "" {
		return ""
	}
	lower := strings.ToLower(field)
	switch {
	case secret(field):
		return ""
	case strings.Contains(lower, "version"), strings.Contains(lower, "build"):
		return text // looks like an address
	}
	if as, ok := s.user(text); ok {
		return as
	}
	if as, ok := s.bare[strings.ToLower(text)]; ok && lower == "hostname" {
		return as
	}
	text = s.account.ReplaceAllStringFunc(text, func(name string) string {
		if as, ok := s.user(name); ok {
			return as
		}
		return name
	})
	text = s.v4.ReplaceAllStringFunc(text, s.address)
	if strings.Count(text, ":") > 1 {
		text = s.v6.ReplaceAllStringFunc(text, s.address)
	}
	return s.names(text)
}

// user replaces a text that is the name of a user. Without a domain it is a name like any other.
func (s *scrubber) user(text string) (string, bool) {
	key, user, domain := principal(text)
	as, ok := s.people[key]
	if !ok || user == "" {
		return "", false
	}
	shown := domain
	if to, ok := s.domains[domain]; ok {
		shown = to
	}
	switch {
	case domain == "":
		return as, true
	case strings.Contains(text, `\`):
		return strings.ToUpper(shown) + `\` + as, true
	}
	return as + "@" + shown, true
}

// names replaces names of hosts wherever they stand: between other letters than names are made of.
func (s *scrubber) names(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		n := strings.IndexFunc(text, func(r rune) bool { return !nameRune(r) })
		if n < 0 {
			n = len(text)
		}
		if n == 0 {
			n = strings.IndexFunc(text, nameRune)
			if n < 0 {
				n = len(text)
			}
			b.WriteString(text[:n])
		} else {
			b.WriteString(s.name(text[:n]))
		}
		text = text[n:]
	}
	return b.String()
}

func nameRune(r rune) bool {
	return r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// name replaces a name: one that is known, one with something behind it ("web-1.vmdk"), or one in a domain that is known.
func (s *scrubber) name(name string) string {
	lower := strings.ToLower(name)
	if as, ok := s.words[lower]; ok {
		return as
	}
	if as, ok := s.domains[lower]; ok && strings.Contains(lower, ".") {
		return as
	}
	for i := len(lower) - 1; i > 0; i-- {
		if lower[i] == '.' {
			if as, ok := s.words[lower[:i]]; ok {
				return as + name[i:]
			}
		}
	}
	for i := range len(lower) {
		if lower[i] == '.' {
			if as, ok := s.domains[lower[i+1:]]; ok {
				return name[:i+1] + as
			}
		}
	}
	return name
}

// address replaces an IP address. IPv4 addresses of one /24 stay in one /24, each with its last number; IPv6 addresses of
// one /64 in one /64. Those that mean the same everywhere, and masks, stay.
func (s *scrubber) address(text string) string {
	a, err := netip.ParseAddr(text)
	if err != nil || a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || a.Zone() != "" {
		return text
	}
	if a.Is4() {
		if b := a.As4(); b[0] == 255 || b[0] == 0 {
			return text
		}
		net := netip.PrefixFrom(a, 24).Masked()
		to, ok := s.nets[net]
		if !ok {
			n := len(s.nets)
			to = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n >> 8), byte(n), 0}), 24)
			s.nets[net] = to
		}
		b := to.Addr().As4()
		b[3] = a.As4()[3]
		return netip.AddrFrom4(b).String()
	}
	to, ok := s.hosts[a]
	if !ok {
		net := netip.PrefixFrom(a, 64).Masked()
		in, ok := s.nets[net]
		if !ok {
			b := [16]byte{0xfd}
			binary.BigEndian.PutUint16(b[6:], uint16(len(s.nets)))
			in = netip.PrefixFrom(netip.AddrFrom16(b), 64)
			s.nets[net] = in
		}
		b := in.Addr().As16()
		binary.BigEndian.PutUint64(b[8:], uint64(len(s.hosts)+1))
		to = netip.AddrFrom16(b)
		s.hosts[a] = to
	}
	return to.String()
}
