package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// expand replaces every replica group by its replicas. It returns false, with the topology untouched, where there would
// be too many of them.
func expand(p *problems, t *Topology) ([]*site, bool) {
	if !countGroups(p, t) {
		return nil, false
	}
	var sites []*site
	for i := range t.Spec.VCenters {
		vcenter := &t.Spec.VCenters[i]
		at := vcentersPath().item(i).key("datacenters")
		for j := range vcenter.Datacenters {
			sites = append(sites, expandDatacenter(p, vcenter, &vcenter.Datacenters[j], at.item(j)))
		}
	}
	return sites, true
}

func vcentersPath() *path { return (*path)(nil).key("spec").key("vcenters") }

func expandDatacenter(p *problems, vcenter *VCenter, dc *Datacenter, at *path) *site {
	s := &site{vcenter: vcenter, datacenter: dc, at: at}
	clusterHosts := make([][]*path, len(dc.Clusters))
	for i := range dc.Clusters {
		hosts := &dc.Clusters[i].Hosts
		*hosts, clusterHosts[i] = expandHosts(p, *hosts, at.key("clusters").item(i).key("hosts"))
	}
	var standalone []*path
	dc.Hosts, standalone = expandHosts(p, dc.Hosts, at.key("hosts"))
	dc.VMs, s.vms = expandVMs(p, dc.VMs, at.key("vms"))
	s.list(clusterHosts, standalone)
	return s
}

func expandHosts(p *problems, groups []Host, at *path) (hosts []Host, from []*path) {
	hosts, from = slices.Grow(hosts, len(groups)), make([]*path, 0, len(groups))
	for i, group := range groups {
		g := replicas{problems: p, at: at.item(i), count: group.Replicas}
		group.Replicas = 0
		for n := range g.each() {
			host := group
			host.Name = g.named("name", group.Name, n)
			host.Region = g.text("region", group.Region, n)
			host.Zone = g.text("zone", group.Zone, n)
			hosts, from = append(hosts, host), append(from, g.at)
		}
	}
	return hosts, from
}

func expandVMs(p *problems, groups []VM, at *path) (vms []VM, from []*path) {
	vms, from = slices.Grow(vms, len(groups)), make([]*path, 0, len(groups))
	for i, group := range groups {
		g := replicas{problems: p, at: at.item(i), count: group.Replicas}
		group.Replicas = 0
		group.NICs = g.bounded(group.NICs)
		g.refuseShared(group)
		for n := range g.each() {
			vm := group
			vm.Name = g.named("name", group.Name, n)
			vm.Hostname = g.text("hostname", group.Hostname, n)
			vm.Host = g.text("host", group.Host, n)
			vm.NICs = cloneNICs(group.NICs)
			vms, from = append(vms, vm), append(from, g.at)
		}
	}
	return vms, from
}

// bounded reports NICs and addresses that are too many, before they are multiplied, and drops them.
func (g replicas) bounded(nics []NIC) []NIC {
	at := g.at.key("nics")
	if len(nics) > maxNICs {
		g.field(at, "", "are %d, more than the %d a VM can have", len(nics), maxNICs)
		return nil
	}
	for i, nic := range nics {
		if len(nic.Addresses) > maxAddresses {
			g.field(at.item(i).key("addresses"), "", "are %d, more than the %d a NIC can have", len(nic.Addresses), maxAddresses)
			return nil
		}
	}
	return nics
}

func cloneNICs(nics []NIC) []NIC {
	cloned := slices.Clone(nics)
	for i := range cloned {
		cloned[i].Addresses = slices.Clone(cloned[i].Addresses)
	}
	return cloned
}

// replicas is one group. A count of zero is an entry that stands for itself.
type replicas struct {
	*problems
	at    *path
	count int
}

// each runs over the replicas' numbers, or once over 0 for an entry that is no group.
func (g replicas) each() func(func(int) bool) {
	return func(yield func(int) bool) {
		if g.count == 0 {
			yield(0)
			return
		}
		for n := 1; n <= g.count; n++ {
			if !yield(n) {
				return
			}
		}
	}
}

// named is a replica's name: numbered in place of {n}, or at the end.
func (g replicas) named(key, pattern string, n int) string {
	name := g.text(key, pattern, n)
	if name != pattern || n == 0 || name == "" {
		return name
	}
	return name + "-" + strconv.Itoa(n)
}

// text is a replica's text: numbered in place of {n}, if it has one.
func (g replicas) text(key, pattern string, n int) string {
	text, replaced := number(pattern, n)
	if replaced && n == 0 {
		g.field(g.at.key(key), "", "has {n}, which numbers replicas, but there is no replicas: beside it")
	}
	return text
}

// refuseShared reports what the replicas of a VM cannot have in common.
func (g replicas) refuseShared(group VM) {
	if g.count < 2 {
		return
	}
	refuse := func(at *path, value string) {
		if value != "" {
			g.field(at, "", "would be the same for all %d replicas: leave it out to have it derived", g.count)
		}
	}
	refuse(g.at.key("uuid"), group.UUID)
	refuse(g.at.key("instanceUUID"), group.InstanceUUID)
	for i, nic := range group.NICs {
		at := g.at.key("nics").item(i)
		refuse(at.key("mac"), nic.MAC)
		for j, address := range nic.Addresses {
			refuse(at.key("addresses").item(j), address)
		}
	}
	if _, numbered := number(group.Hostname, 1); group.Hostname != "" && !numbered {
		g.field(g.at.key("hostname"), "", "needs {n}: it would be the same for all %d replicas", g.count)
	}
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
