package provider

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// merged is what of wanted may take the place of inForce while nodes are watched. A vCenter that is no longer there, or
// that is somewhere else, or of which fewer datacenters are looked at, stays entirely as it is: nodes whose VMs nobody
// looks at any more would be called gone.
func merged(inForce, wanted *config.Config) *config.Config {
	m := *wanted
	m.VCenters = nil
	taken := map[string]bool{} // tenants
	for _, vc := range inForce.VCenters {
		next, ok := successor(vc, wanted)
		if !ok || narrower(vc.Datacenters, next.Datacenters) || next.Tenant != vc.Tenant && named(inForce, next.Tenant) {
			next = vc
		}
		taken[next.Tenant] = true
		m.VCenters = append(m.VCenters, next)
	}
	for _, vc := range wanted.VCenters {
		if !taken[vc.Tenant] && !slices.ContainsFunc(m.VCenters, func(o config.VCenter) bool { return sameServer(o, vc) }) {
			m.VCenters = append(m.VCenters, vc)
		}
	}
	slices.SortFunc(m.VCenters, func(a, b config.VCenter) int { return strings.Compare(a.Tenant, b.Tenant) })
	return &m
}

// successor returns what a vCenter has become. Its server and port say which it is, not the name that the file gives it:
// that one may change, unless another vCenter has it.
func successor(vc config.VCenter, wanted *config.Config) (config.VCenter, bool) {
	i := slices.IndexFunc(wanted.VCenters, func(o config.VCenter) bool { return sameServer(o, vc) })
	if i < 0 {
		return vc, false
	}
	return wanted.VCenters[i], true
}

func named(cfg *config.Config, tenant string) bool {
	return slices.ContainsFunc(cfg.VCenters, func(vc config.VCenter) bool { return vc.Tenant == tenant })
}

func sameServer(a, b config.VCenter) bool {
	return strings.EqualFold(a.Server, b.Server) && a.Port == b.Port
}

// narrower reports whether a datacenter that is looked at would no longer be. None means all.
func narrower(from, to []string) bool {
	if len(to) == 0 {
		return false
	}
	return len(from) == 0 || slices.ContainsFunc(from, func(dc string) bool { return !slices.Contains(to, dc) })
}
