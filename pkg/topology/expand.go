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

// MaxVMs is the maximum number of VMs in a topology after expansion.
const MaxVMs = 50_000

// The limits for other objects, above what one computer simulates. They keep a typo from using all memory.
const (
	maxVCenters    = 200
	maxDatacenters = 1_000
	maxHosts       = 10_000
	maxNetworks    = 5_000
	maxDatastores  = 5_000
	maxFolders     = 5_000
	maxPools       = 20_000
	// maxText exceeds any name; it limits the replicas of long texts.
	maxText = 1024
	// maxNICs is vSphere's limit; maxAddresses of one NIC is specific to the sandbox.
	maxNICs      = 10
	maxAddresses = 32
	// maxSnapshots, the length of a chain, and maxPoolDepth are vSphere's limits; the others are specific to the sandbox.
	maxSnapshots   = 32
	maxPoolDepth   = 8
	maxTags        = 64
	maxPermissions = 64
	maxExtraConfig = 512
	// maxItems is roughly what fits in a file.
	maxItems = 250_000
)

// countGroups counts the objects before the expansion, and reports the group that exceeds a limit.
func countGroups(p *problems, t *Topology) bool {
	c := newCensus(p)
	for i := range t.Spec.VCenters {
		vcenter, at := &t.Spec.VCenters[i], vcentersPath().item(i)
		c.vcenters.add(1, at)
		c.folders.each(len(vcenter.Folders), at.key("folders"))
		for j := range vcenter.Datacenters {
			c.datacenter(&vcenter.Datacenters[j], at.key("datacenters").item(j))
		}
	}
	return !c.over()
}

// census holds the counts of objects.
type census struct {
	vcenters, datacenters, hosts, vms, networks, datastores, folders, pools tally
}

func newCensus(p *problems) *census {
	count := func(noun string, most int) tally { return tally{problems: p, noun: noun, most: most} }
	return &census{
		vcenters: count("vCenters", maxVCenters), datacenters: count("datacenters", maxDatacenters),
		hosts: count("hosts", maxHosts), vms: count("VMs", MaxVMs), networks: count("networks", maxNetworks),
		datastores: count("datastores", maxDatastores), folders: count("folders", maxFolders),
		pools: count("resource pools and vApps", maxPools),
	}
}

func (c *census) over() bool {
	return c.vcenters.over || c.datacenters.over || c.hosts.over || c.vms.over || c.networks.over || c.datastores.over ||
		c.folders.over || c.pools.over
}

func (c *census) datacenter(dc *Datacenter, at *path) {
	c.datacenters.add(1, at)
	for i := range dc.Clusters {
		cluster, at := &dc.Clusters[i], at.key("clusters").item(i)
		c.pooled(cluster.Pools, cluster.VApps, 1, at)
		c.grouped(cluster.Hosts, at.key("hosts"))
	}
	c.grouped(dc.Hosts, at.key("hosts"))
	for i := range dc.VMs {
		c.vms.add(dc.VMs[i].Replicas, at.key("vms").item(i))
	}
	c.networks.each(len(dc.Networks), at.key("networks"))
	for i := range dc.Switches {
		c.networks.each(len(dc.Switches[i].PortGroups), at.key("switches").item(i).key("portGroups"))
	}
	c.datastores.each(len(dc.Datastores), at.key("datastores"))
	c.folders.each(len(dc.Folders), at.key("folders"))
}

func (c *census) grouped(hosts []Host, at *path) {
	for i := range hosts {
		c.hosts.add(hosts[i].Replicas, at.item(i))
		c.pooled(hosts[i].Pools, nil, hosts[i].Replicas, at.item(i))
	}
}

// pooled counts the pools of a compute resource, recursively, times its replicas.
func (c *census) pooled(pools []Pool, vapps []VApp, replicas int, at *path) {
	if len(pools)+len(vapps) == 0 {
		return
	}
	c.pools.put(countPools(pools, vapps)*min(max(replicas, 1), maxHosts), at.key("pools"))
}

func countPools(pools []Pool, vapps []VApp) int {
	count := len(pools) + len(vapps)
	for i := range pools {
		count += countPools(pools[i].Pools, pools[i].VApps)
	}
	return count
}

// tally counts one kind of object up to a limit.
type tally struct {
	*problems
	noun        string
	count, most int
	over        bool
}

// each counts the items of a list.
func (c *tally) each(items int, at *path) {
	for i := range items {
		if !c.over {
			c.add(1, at.item(i))
		}
	}
}

// add counts a group; zero replicas are a single entry.
func (c *tally) add(replicas int, at *path) {
	if replicas > 1 {
		at = at.key("replicas")
	}
	c.put(max(replicas, 1), at)
}

// put adds to the count. After the limit was exceeded once, it reports only groups that exceed it alone.
func (c *tally) put(count int, at *path) {
	if count <= c.most-c.count {
		c.count += count
		return
	}
	if !c.over || count > c.most {
		c.field(at, "", "makes more than the %d %s a topology may have", c.most, c.noun)
	}
	c.over = true
}
