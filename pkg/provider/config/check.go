package config

import (
	"regexp"
	"slices"
	"strings"
)

var (
	thumbprint = regexp.MustCompile(`^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){19}$|^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){31}$`)
	// reference is a managed object reference, which stands where a datacenter's name or path may stand too.
	reference = regexp.MustCompile(`^([A-Z][A-Za-z]+):([a-z-]+[0-9]+)$`)
)

// check notes what is wrong with the values of one section, whoever uses them.
func (e *endpoint) check(p *problems) {
	if e.server.good() {
		if message, hint := hostProblem(e.server.value); message != "" {
			p.at(e.server.at, hint, message, withoutLogin(e.server.value))
		}
	}
	if e.port.good() && (e.port.value < 1 || e.port.value > 65535) {
		p.at(e.port.at, "", "%d is out of range", e.port.value)
	}
	if n := e.soapRoundtripCount; n.good() && n.value < 1 {
		p.at(n.at, "", "%d is less than 1", n.value)
	}
	if e.thumbprint.good() && !thumbprint.MatchString(e.thumbprint.value) {
		p.at(e.thumbprint.at, "", "%q: a SHA-1 or SHA-256 fingerprint in colon form is needed", e.thumbprint.value)
	}
	e.checkSecrets(p)
	e.checkDatacenters(p)
	e.checkFamilies(p)
}

// checkSecrets notes where credentials come from half or twice.
func (e *endpoint) checkSecrets(p *problems) {
	some := e.secretName.or(e.secretNamespace)
	switch {
	case some.set && e.secretsDirectory.set:
		p.at(e.secretsDirectory.at, "keep one of the two", "credentials cannot come from a directory and from a Secret")
	case e.secretName.set != e.secretNamespace.set:
		p.at(some.at, "", "a Secret's name and namespace are needed together")
	}
}

func (e *endpoint) checkDatacenters(p *problems) {
	var seen []string
	for _, dc := range e.datacenters.value {
		dc = strings.TrimSpace(dc)
		m := reference.FindStringSubmatch(dc)
		switch {
		case dc == "":
			p.at(e.datacenters.at, "", "an entry is empty")
		case slices.Contains(seen, dc):
			p.at(e.datacenters.at, "", "%q stands twice", dc)
		case m != nil && m[1] != "Datacenter":
			p.at(e.datacenters.at, "", "%q is a %s, not a Datacenter", dc, m[1])
		case strings.Contains(dc, ","):
			p.warn(e.datacenters.at, "%q is one datacenter, with a comma in its name", dc)
		}
		seen = append(seen, dc)
	}
}

func (e *endpoint) checkFamilies(p *problems) {
	var seen []IPFamily
	for _, name := range e.ipFamily.value {
		f := family(name)
		if f != IPv4 && f != IPv6 {
			p.at(e.ipFamily.at, "", "%q is neither ipv4 nor ipv6", name)
		} else if slices.Contains(seen, f) {
			p.at(e.ipFamily.at, "", "%q stands twice", name)
		}
		seen = append(seen, f)
	}
}
