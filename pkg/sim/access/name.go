package access

import "strings"

// name is the name of a user or group as vCenter compares it: without regard to case, in either of the two forms
// "user@domain" and "DOMAIN\user". The domain is empty when it was left out.
type name struct{ user, domain string }

func parseName(s string) name {
	s = strings.ToLower(strings.TrimSpace(s))
	if domain, user, ok := strings.Cut(s, `\`); ok {
		return name{user, domain}
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return name{s[:i], s[i+1:]}
	}
	return name{user: s}
}

// in returns the name with a domain, the given one if it has none.
func (n name) in(domain string) name {
	if n.domain == "" {
		n.domain = strings.ToLower(domain)
	}
	return n
}

// down is the form in which vCenter writes users into sessions, events and permissions ("VSPHERE.LOCAL\administrator").
func (n name) down() string {
	if n.domain == "" {
		return n.user
	}
	return strings.ToUpper(n.domain) + `\` + n.user
}

// full is the form in which vCenter writes the full name ("administrator vsphere.local").
func (n name) full() string { return strings.TrimSpace(n.user + " " + n.domain) }
