package config

import (
	"cmp"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// resolve makes the configuration that f means, noting what is wrong with it.
func (f *file) resolve(p *problems) *Config {
	cfg := &Config{Labels: f.Labels}
	f.Global.check("global", p)
	cfg.Nodes = f.Nodes.resolve(p)
	vcenters := f.VCenter
	if len(vcenters) == 0 && f.Global.Server != "" {
		vcenters = map[string]endpoint{f.Global.Server: {}}
	}
	if len(vcenters) == 0 {
		p.key("vcenter", "no vcenter is configured")
	}
	for _, tenant := range slices.Sorted(maps.Keys(vcenters)) {
		cfg.VCenters = append(cfg.VCenters, f.vcenter(tenant, vcenters[tenant], p))
	}
	seen := map[string]string{}
	for _, vc := range cfg.VCenters {
		if other, ok := seen[strings.ToLower(vc.Server)]; ok && vc.Server != "" {
			p.key(join("vcenter", vc.Tenant), "server %s is that of %s too", vc.Server, join("vcenter", other))
		}
		seen[strings.ToLower(vc.Server)] = vc.Tenant
	}
	cfg.Warnings = f.warnings()
	return cfg
}

// vcenter merges one entry with the global section and checks the outcome.
func (f *file) vcenter(tenant string, e endpoint, p *problems) VCenter {
	path, g := join("vcenter", tenant), f.Global
	if _, ok := f.VCenter[tenant]; !ok {
		path = "global"
		e.Server = g.Server
	}
	vc := VCenter{
		Tenant:             tenant,
		Server:             e.Server,
		Port:               value(e.Port, g.Port, 443),
		User:               cmp.Or(e.User, g.User),
		Password:           cmp.Or(e.Password, g.Password),
		InsecureFlag:       value(e.InsecureFlag, g.InsecureFlag, false),
		CAFile:             cmp.Or(e.CAFile, g.CAFile),
		Thumbprint:         cmp.Or(e.Thumbprint, g.Thumbprint),
		Datacenters:        first(e.Datacenters, g.Datacenters),
		SOAPRoundtripCount: value(e.SOAPRoundtripCount, g.SOAPRoundtripCount, 3),
	}
	if vc.Server == "" {
		p.key(path, "server is missing")
	}
	if path != "global" {
		e.check(path, p)
	}
	vc.IPFamilies = families(first(e.IPFamily, g.IPFamily))
	vc.credentials(path, e, g, p)
	return vc
}

var thumbprint = regexp.MustCompile(`^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){19}$|^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){31}$`)

// check notes what is wrong with the values of one section, whoever uses them.
func (e endpoint) check(path string, p *problems) {
	if strings.Contains(e.Server, "/") {
		p.key(join(path, "server"), "%q: a host name or address is needed, without scheme or path", e.Server)
	}
	if e.Port != nil && (*e.Port < 1 || *e.Port > 65535) {
		p.key(join(path, "port"), "%d is out of range", *e.Port)
	}
	if n := e.SOAPRoundtripCount; n != nil && *n < 1 {
		p.key(join(path, "soapRoundtripCount"), "%d is less than 1", *n)
	}
	if e.Thumbprint != "" && !thumbprint.MatchString(e.Thumbprint) {
		p.key(join(path, "thumbprint"), "%q: a SHA-1 or SHA-256 fingerprint in colon form is needed", e.Thumbprint)
	}
	for _, dc := range e.Datacenters {
		if strings.TrimSpace(dc) == "" {
			p.key(join(path, "datacenters"), "an entry is empty")
		}
	}
	var seen []IPFamily
	for _, name := range e.IPFamily {
		f := family(name)
		if f != IPv4 && f != IPv6 {
			p.key(join(path, "ipFamily"), "%q is neither ipv4 nor ipv6", name)
		} else if slices.Contains(seen, f) {
			p.key(join(path, "ipFamily"), "%q stands twice", name)
		}
		seen = append(seen, f)
	}
}

// credentials decides between a Secret and the file. A vCenter's own choice, of either kind, comes before the global
// one; a Secret comes before user and password on the same level.
func (vc *VCenter) credentials(path string, e, g endpoint, p *problems) {
	level := e
	if e.SecretName == "" && e.SecretNamespace == "" && e.User == "" && e.Password == "" {
		level = g
	}
	switch {
	case level.SecretName != "" && level.SecretNamespace != "":
		vc.Secret = SecretRef{Namespace: level.SecretNamespace, Name: level.SecretName}
		vc.User, vc.Password = "", ""
	case level.SecretName != "" || level.SecretNamespace != "":
		p.key(path, "secretName and secretNamespace are needed together")
	case vc.User == "" || vc.Password == "":
		p.key(path, "credentials are missing: secretName and secretNamespace, or user and password")
	}
}

// families reads the address families, ipv4 when there are none.
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

// resolve reads the lists of networks.
func (n nodes) resolve(p *problems) Nodes {
	prefixes := func(key, list string) (ps []netip.Prefix) {
		for s := range strings.SplitSeq(list, ",") {
			if s = strings.TrimSpace(s); s == "" {
				continue
			}
			prefix, err := netip.ParsePrefix(s)
			if err != nil {
				p.key(join("nodes", key), "%q is not a network like 10.0.0.0/8", s)
				continue
			}
			ps = append(ps, prefix.Masked())
		}
		return ps
	}
	return Nodes{
		InternalSubnets:        prefixes("internalNetworkSubnetCidr", n.InternalNetworkSubnetCIDR),
		ExternalSubnets:        prefixes("externalNetworkSubnetCidr", n.ExternalNetworkSubnetCIDR),
		ExcludeInternalSubnets: prefixes("excludeInternalNetworkSubnetCidr", n.ExcludeInternalNetworkSubnetCIDR),
		ExcludeExternalSubnets: prefixes("excludeExternalNetworkSubnetCidr", n.ExcludeExternalNetworkSubnetCIDR),
		InternalVMNetwork:      strings.TrimSpace(n.InternalVMNetworkName),
		ExternalVMNetwork:      strings.TrimSpace(n.ExternalVMNetworkName),
	}
}

// warnings tells what the file says to no effect.
func (f *file) warnings() []string {
	var ws []string
	for _, s := range []struct {
		name string
		set  bool
	}{
		{"nsxt", f.NSXT != nil},
		{"loadBalancer", f.LoadBalancer != nil},
		{"loadBalancerClass", f.LoadBalancerClass != nil},
		{"route", f.Route != nil},
		{"global.apiDisable", f.Global.APIDisable != nil},
		{"global.apiBinding", f.Global.APIBinding != nil},
		{"global.serviceAccount", f.Global.ServiceAccount != nil},
	} {
		if s.set {
			ws = append(ws, s.name+" has no effect")
		}
	}
	if (f.Labels.Region == "") != (f.Labels.Zone == "") {
		ws = append(ws, "labels have no effect: region and zone are needed together")
	}
	return ws
}

// value returns the first that is set.
func value[T any](own, global *T, otherwise T) T {
	switch {
	case own != nil:
		return *own
	case global != nil:
		return *global
	}
	return otherwise
}

// first returns the first list that has entries.
func first(own, global []string) []string {
	if len(own) > 0 {
		return own
	}
	return global
}
