package config

import (
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
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
	f.distinct(p)
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
	}
}

// distinct reports vCenters that are the same.
func (f *file) distinct(p *problems) {
	seen := map[string]string{}
	for _, tenant := range slices.Sorted(maps.Keys(f.vcenters)) {
		e := f.vcenters[tenant]
		if !e.server.good() {
			continue
		}
		key := hostKey(e.server.value)
		if other, ok := seen[key]; ok {
			p.at(e.at, "", "server %s is also that of %s", withoutLogin(e.server.value), f.vcenters[other].at.path)
			continue
		}
		seen[key] = tenant
	}
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
			p.at(list.at, "", "%q is not a network like 10.0.0.0/8", s)
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
