package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// resolve returns the configuration of f and reports problems.
func (f *file) resolve(o options, p *problems) *Config {
	cfg := &Config{
		Format:           f.format,
		Labels:           f.labels.resolve(p),
		Nodes:            f.nodes.resolve(p),
		SkipNodeDeletion: f.skipNodeDeletion,
		AlphaDualStack:   f.alphaDualStack,
	}
	cfg.LoadBalancer = f.resolveLoadBalancer(p)
	cfg.Route = f.resolveRoute(p)
	cfg.NSX = f.resolveNSX(p)
	f.global.check(p)
	f.addGlobalServer()
	if len(f.vcenters) == 0 && !f.incomplete {
		p.at(position{file: f.name}, "", "no vCenter is configured")
	}
	fallback := ""
	if info, err := os.Stat(o.defaultSecrets); o.defaultSecrets != "" && err == nil && info.IsDir() {
		fallback = o.defaultSecrets
	}
	for _, tenant := range slices.Sorted(maps.Keys(f.vcenters)) {
		cfg.VCenters = append(cfg.VCenters, f.resolveVCenter(tenant, fallback, p))
	}
	f.repeated(cfg.VCenters, p)
	return cfg
}

// addGlobalServer adds a vCenter for the global section's server, unless it has its own section.
func (f *file) addGlobalServer() {
	server := f.global.server
	if !server.set {
		return
	}
	for tenant, e := range f.vcenters {
		if sameHost(tenant, server.value) || sameHost(e.server.value, server.value) {
			return
		}
	}
	f.vcenter(server.value, server.at).server = server
}

// resolveVCenter merges one vCenter with the global section and validates the result.
func (f *file) resolveVCenter(tenant, fallback string, p *problems) VCenter {
	e, g := f.vcenters[tenant], &f.global
	vc := VCenter{
		Tenant:             tenant,
		Server:             strings.TrimSuffix(strings.TrimPrefix(e.server.value, "["), "]"),
		Port:               valueOr(e.port.or(g.port), 443),
		InsecureFlag:       e.insecureFlag.or(g.insecureFlag).value,
		CAFile:             e.caFile.or(g.caFile).value,
		Thumbprint:         e.thumbprint.or(g.thumbprint).value,
		Datacenters:        trimmed(e.datacenters.or(g.datacenters).value),
		SOAPRoundtripCount: valueOr(e.soapRoundtripCount.or(g.soapRoundtripCount), 3),
		IPFamilies:         families(e.ipFamily.or(g.ipFamily).value),
	}
	if !e.server.set {
		p.at(e.at, "", "server is missing")
	}
	if tenant == "" {
		p.at(e.at, "", "the vCenter's name is empty")
	}
	if !e.server.set || e.server.at != g.server.at { // otherwise the global section has been checked
		e.check(p)
	}
	vc.credentials(e, g, fallback, p)
	return vc
}

// credentials sets the source of the credentials. A vCenter's own source, of either kind, has priority over the global one; a
// Secret or a directory has priority over user and password on the same level.
func (vc *VCenter) credentials(e, g *endpoint, fallback string, p *problems) {
	level := e
	if !e.secretName.set && !e.secretNamespace.set && !e.user.set && !e.password.set {
		level = g
	}
	user, password := e.user.or(g.user), e.password.or(g.password)
	secret := level.secretName.set && level.secretNamespace.set
	switch {
	case level.secretName.set != level.secretNamespace.set, secret && level.secretsDirectory.set: // already reported
	case secret:
		vc.Secret = SecretRef{Namespace: level.secretNamespace.value, Name: level.secretName.value}
	case level.secretsDirectory.set:
		vc.SecretsDirectory = level.secretsDirectory.value
	case user.set && password.set:
		vc.User, vc.Password = user.value, password.value
	case fallback != "" && !user.set && !password.set:
		vc.SecretsDirectory = fallback
	default:
		p.at(e.at, "", "credentials are missing: a Secret (secretName, secretNamespace), a secretsDirectory, or user and password")
		for _, c := range []cell[string]{e.user, e.password, g.user, g.password} {
			if !c.set && c.hint != "" {
				p.at(c.at, c.hint, "has no value")
			}
		}
	}
}

// repeated warns about connections that are the same. Several connections to one vCenter are a feature: each has its
// own account and datacenters (kubernetes/cloud-provider-vsphere#233).
func (f *file) repeated(vcenters []VCenter, p *problems) {
	for i, vc := range vcenters {
		if !f.vcenters[vc.Tenant].server.good() {
			continue
		}
		for _, other := range vcenters[:i] {
			if SameServer(vc, other) && sameAccess(vc, other) {
				p.warn(f.vcenters[vc.Tenant].at, "is the same connection as %s: one of them is enough", f.vcenters[other.Tenant].at.path)
				break
			}
		}
	}
}

// SameServer reports whether two connections are to one host and port. What answers there may still be one vCenter under
// several hosts.
func SameServer(a, b VCenter) bool { return sameHost(a.Server, b.Server) && a.Port == b.Port }

// sameAccess reports whether two connections to one server have the same account and datacenters.
func sameAccess(a, b VCenter) bool {
	return a.User == b.User && a.Password == b.Password && a.Secret == b.Secret && a.SecretsDirectory == b.SecretsDirectory &&
		slices.Equal(a.Datacenters, b.Datacenters)
}

// resolve returns the categories, and warns if they have no effect.
func (l labels) resolve(p *problems) Labels {
	if l.region.set != l.zone.set {
		p.warn(l.region.or(l.zone).at, "has no effect: set both region and zone")
	}
	return Labels{Region: l.region.value, Zone: l.zone.value}
}

func (n nodes) resolve(p *problems) Nodes {
	return Nodes{
		InternalSubnets:        prefixes(n.internalSubnets, p),
		ExternalSubnets:        prefixes(n.externalSubnets, p),
		ExcludeInternalSubnets: prefixes(n.excludeInternalSubnets, p),
		ExcludeExternalSubnets: prefixes(n.excludeExternalSubnets, p),
		InternalVMNetwork:      strings.TrimSpace(n.internalNetwork.value),
		ExternalVMNetwork:      strings.TrimSpace(n.externalNetwork.value),
	}
}

func prefixes(list cell[string], p *problems) (all []netip.Prefix) {
	for _, s := range splitList(list.value) {
		prefix, err := netip.ParsePrefix(s)
		if err != nil {
			hint := ""
			if address, err := netip.ParseAddr(s); err == nil {
				hint = fmt.Sprintf("write %s/%d for the address alone", s, address.BitLen())
			}
			p.at(list.at, hint, "%q is not a network like 10.0.0.0/8", s)
			continue
		}
		all = append(all, prefix.Masked())
	}
	return all
}

// families parses the address families; the default is ipv4.
func families(names []string) []IPFamily {
	if len(names) == 0 {
		return []IPFamily{IPv4}
	}
	var fs []IPFamily
	for _, name := range names {
		fs = append(fs, family(name))
	}
	return fs
}

func family(name string) IPFamily { return IPFamily(strings.ToLower(strings.TrimSpace(name))) }

func valueOr(c cell[int], otherwise int) int {
	if c.set {
		return c.value
	}
	return otherwise
}

func trimmed(list []string) []string {
	var all []string
	for _, s := range list {
		all = append(all, strings.TrimSpace(s))
	}
	return all
}

var (
	thumbprint = regexp.MustCompile(`^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){19}$|^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){31}$`)
	// reference is a managed object reference, an alternative to a datacenter's name or path.
	reference = regexp.MustCompile(`^([A-Z][A-Za-z]+):([a-z-]+[0-9]+)$`)
)

// check validates the values of one section, used or not.
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
		p.at(e.thumbprint.at, thumbprintHint(e.thumbprint.value), "%q: must be a SHA-1 or SHA-256 fingerprint with colons", e.thumbprint.value)
	}
	e.checkLogin(p)
	e.checkSecrets(p)
	e.checkDatacenters(p)
	e.checkFamilies(p)
}

// thumbprintHint returns how to write a thumbprint that has other separators, or what openssl prints before it.
func thumbprintHint(text string) string {
	if _, value, ok := strings.Cut(text, "="); ok {
		text = value
	}
	digits := strings.NewReplacer(":", "", " ", "", "-", "").Replace(text)
	var pairs []string
	for pair := range slices.Chunk([]byte(digits), 2) {
		pairs = append(pairs, string(pair))
	}
	if usual := strings.Join(pairs, ":"); thumbprint.MatchString(usual) {
		return "write " + usual
	}
	return ""
}

// checkSecrets reports incomplete or contradictory sources of credentials.
func (e *endpoint) checkSecrets(p *problems) {
	some := e.secretName.or(e.secretNamespace)
	switch {
	case some.set && e.secretsDirectory.set:
		p.at(e.secretsDirectory.at, "keep one of the two", "credentials cannot come from a directory and from a Secret")
	case e.secretName.set != e.secretNamespace.set:
		p.at(some.at, "", "a Secret's name and namespace must be set together")
	}
}

func (e *endpoint) checkDatacenters(p *problems) {
	var seen []string
	for _, dc := range e.datacenters.value {
		dc = strings.TrimSpace(dc)
		m := reference.FindStringSubmatch(dc)
		switch {
		case slices.Contains(seen, dc):
			p.at(e.datacenters.at, "", "%q is listed twice", dc)
		case m != nil && m[1] != "Datacenter":
			p.at(e.datacenters.at, "", "%q is a %s, not a Datacenter", dc, m[1])
		case strings.Contains(dc, ","):
			p.suspect(e.datacenters.at, "write ["+strings.Join(splitList(dc), ", ")+"] for several",
				"%q is one datacenter if the vCenter has one with commas in its name, else several", dc)
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
			p.at(e.ipFamily.at, "", "%q is listed twice", name)
		}
		seen = append(seen, f)
	}
}

// Problem is an error or a warning about a configuration.
type Problem struct {
	// File is the file's name as given, or "environment".
	File string
	// Line and Column count from 1; 0 if unknown.
	Line, Column int
	// Path is the key as written: global.caFile, [Global] ca-file, VSPHERE_CAFILE. It is empty for a whole file.
	Path    string
	Message string
	// Hint is a suggestion, or empty.
	Hint string
	// Warning reports that the configuration is usable nevertheless.
	Warning bool
	// Suspect reports that a value may not be what was meant: the syntax of the file has taken a part of it away or made
	// something else of it.
	Suspect bool
}

// String returns "FILE:LINE: PATH: MESSAGE, HINT" without empty parts.
func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
	}
	s += ": "
	if p.Path != "" {
		s += p.Path + ": "
	}
	s += p.Message
	if p.Hint != "" {
		s += ", " + p.Hint
	}
	return s
}

// Error contains all errors of a configuration, in the order of the file where the line is known. It has no warnings.
type Error struct {
	Problems []Problem
}

// Error lists the problems, one per line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

type problems struct {
	list []Problem
}

func (p *problems) add(at position, warning bool, hint, format string, args ...any) {
	p.list = append(p.list, Problem{
		File: at.file, Line: at.line, Column: at.column, Path: at.path,
		Message: fmt.Sprintf(format, args...), Hint: hint, Warning: warning,
	})
}

func (p *problems) at(at position, hint, format string, args ...any) {
	p.add(at, false, hint, format, args...)
}

// maxHints is for how many problems a hint is computed, which takes longer than finding them: a file of random data has tens
// of thousands.
const maxHints = 1000

// unknown reports an unknown key.
func (p *problems) unknown(at position, hint func() string) {
	said := ""
	if len(p.list) < maxHints {
		said = hint()
	}
	p.at(at, said, "unknown key")
}

func (p *problems) warn(at position, format string, args ...any) {
	p.add(at, true, "", format, args...)
}

// sorted returns the problems of the file by line, then those of the environment.
func (p *problems) sorted() []Problem {
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(environmentLast(a), environmentLast(b)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
		)
	})
	return p.list
}

func environmentLast(p Problem) int {
	if p.File == environment {
		return 1
	}
	return 0
}

// unknownHint suggests a key for an unknown one. all are the section's keys, and elsewhere are the full names of the keys of
// other sections by folded name.
func unknownHint(key string, all []string, elsewhere map[string]string) string {
	if best := nearest.Of(key, all); best != "" {
		return "did you mean " + best + "?"
	}
	if there := elsewhere[fold(key)]; there != "" {
		return "did you mean " + there + "?"
	}
	return ""
}

// fold maps insecure-flag, insecure_flag and InsecureFlag to the same text.
func fold(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}
