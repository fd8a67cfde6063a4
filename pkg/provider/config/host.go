package config

import (
	"net/netip"
	"regexp"
	"strings"
)

var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// withoutLogin is what is meant to be a host without the user and password before it, as https://user:password@host has them.
func withoutLogin(host string) string {
	begin, at := len(scheme.FindString(host)), strings.LastIndex(host, "@")
	if at < begin || !strings.Contains(host[begin:at], ":") {
		return host
	}
	return host[:begin] + "…" + host[at:]
}

// hostKey makes the ways to write a host one: case, brackets around an IPv6 address and its zeros count for nothing.
func hostKey(host string) string {
	host = strings.ToLower(strings.TrimSpace(host))
	if bare, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(bare, "]")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return strings.TrimSuffix(host, ".")
}

func sameHost(a, b string) bool { return hostKey(a) == hostKey(b) }

// hostProblem says what keeps text from being a host; the message is a format for [withoutLogin] of it.
func hostProblem(text string) (message, hint string) {
	const needed = "%q: a host name or address is needed, without scheme, port or path"
	if strings.ContainsAny(text, "/ \t") {
		return needed, ""
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if _, err := netip.ParseAddr(bare); err == nil {
		return "", ""
	}
	if host, port, ok := strings.Cut(text, ":"); ok {
		if strings.Trim(port, "0123456789") == "" && port != "" {
			return needed, "write " + host + " and port " + port
		}
		return needed, ""
	}
	return "", ""
}
