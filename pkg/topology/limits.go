package topology

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
