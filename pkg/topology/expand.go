package topology

import (
	"slices"
	"strconv"
)

// expand replaces every replica group by its replicas. If there would be too many, it returns false and leaves the topology as it
// is.
func expand(p *problems, t *Topology) ([]*site, bool) {
	if !countGroups(p, t) {
		return nil, false
	}
	var sites []*site
	for i := range t.Spec.VCenters {
		vcenter := &t.Spec.VCenters[i]
		at := vcentersPath().item(i).key("datacenters")
		for j := range vcenter.Datacenters {
			sites = append(sites, expandDatacenter(p, &t.Spec, vcenter, &vcenter.Datacenters[j], at.item(j)))
		}
	}
	return sites, true
}

func vcentersPath() *path { return (*path)(nil).key("spec").key("vcenters") }

func expandDatacenter(p *problems, spec *Spec, vcenter *VCenter, dc *Datacenter, at *path) *site {
	s := &site{vcenter: vcenter, datacenter: dc, at: at}
	clusterHosts := make([][]*path, len(dc.Clusters))
	for i := range dc.Clusters {
		hosts := &dc.Clusters[i].Hosts
		*hosts, clusterHosts[i] = expandHosts(p, *hosts, at.key("clusters").item(i).key("hosts"))
	}
	var standalone []*path
	dc.Hosts, standalone = expandHosts(p, dc.Hosts, at.key("hosts"))
	dc.VMs, s.vms = expandVMs(p, dc.VMs, at.key("vms"), spec)
	s.list(clusterHosts, standalone)
	return s
}

func expandHosts(p *problems, groups []Host, at *path) (hosts []Host, from []*path) {
	hosts, from = slices.Grow(hosts, len(groups)), make([]*path, 0, len(groups))
	for i, group := range groups {
		g := replicas{problems: p, at: at.item(i), count: group.Replicas}
		group.Replicas = 0
		group.Marks = g.boundedMarks(group.Marks)
		for n := range g.each() {
			host := group
			host.Name = g.named("name", group.Name, n)
			host.Region = g.text("region", group.Region, n)
			host.Zone = g.text("zone", group.Zone, n)
			host.Tags = g.tags(group.Tags, n)
			hosts, from = append(hosts, host), append(from, g.at)
		}
	}
	return hosts, from
}

func expandVMs(p *problems, groups []VM, at *path, allow *Spec) (vms []VM, from []*path) {
	vms, from = slices.Grow(vms, len(groups)), make([]*path, 0, len(groups))
	for i, group := range groups {
		g := replicas{problems: p, at: at.item(i), count: group.Replicas}
		group.Replicas = 0
		group.NICs = g.bounded(group.NICs)
		group.Marks = g.boundedMarks(group.Marks)
		group.ExtraConfig = few(p, group.ExtraConfig, maxExtraConfig, g.at.key("extraConfig"), "a VM")
		group.Snapshots = few(p, group.Snapshots, maxSnapshots, g.at.key("snapshots"), "a VM")
		g.refuseShared(group, allow)
		for n := range g.each() {
			vm := group
			vm.Name = g.named("name", group.Name, n)
			vm.Hostname = g.text("hostname", group.Hostname, n)
			vm.Host = g.text("host", group.Host, n)
			vm.Cluster = g.text("cluster", group.Cluster, n)
			vm.Pool = g.text("pool", group.Pool, n)
			vm.Folder = g.text("folder", group.Folder, n)
			vm.Datastore = g.text("datastore", group.Datastore, n)
			vm.Tags = g.tags(group.Tags, n)
			vm.NICs = g.nics(group.NICs, n)
			vms, from = append(vms, vm), append(from, g.at)
		}
	}
	return vms, from
}

// replicas is a group. A count of zero is a single entry.
type replicas struct {
	*problems
	at    *path
	count int
}

// each iterates over the replicas' numbers, or once over 0 for a single entry.
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

// named returns a replica's name: with its number in place of {n}, or at the end.
func (g replicas) named(key, pattern string, n int) string {
	name := g.text(key, pattern, n)
	if name != pattern || n == 0 || name == "" {
		return name
	}
	return name + "-" + strconv.Itoa(n)
}
