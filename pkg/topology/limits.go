package topology

// The most a topology may hold after expansion. One machine simulates less; the limits keep a slip of a digit from
// eating its memory.
const (
	maxVCenters    = 200
	maxDatacenters = 1_000
	maxHosts       = 10_000
	maxVMs         = 50_000
	// maxText is longer than any name may be; it keeps replicas of long texts small.
	maxText = 1024
	// maxNICs is vSphere's own limit; maxAddresses of one NIC is ours.
	maxNICs      = 10
	maxAddresses = 32
	// maxItems is about what fits a file that is a topology; lists can be packed denser only if they say nothing.
	maxItems = 250_000
)

// countGroups adds up what there will be before any of it is made, and reports the group that goes too far.
func countGroups(p *problems, t *Topology) bool {
	vcenters := tally{problems: p, most: maxVCenters, noun: "vCenters"}
	datacenters := tally{problems: p, most: maxDatacenters, noun: "datacenters"}
	hosts := tally{problems: p, most: maxHosts, noun: "hosts"}
	vms := tally{problems: p, most: maxVMs, noun: "VMs"}
	for i, vcenter := range t.Spec.VCenters {
		vcenters.add(1, vcentersPath().item(i))
		for j, dc := range vcenter.Datacenters {
			at := vcentersPath().item(i).key("datacenters").item(j)
			datacenters.add(1, at)
			for k, cluster := range dc.Clusters {
				for l, host := range cluster.Hosts {
					hosts.add(host.Replicas, at.key("clusters").item(k).key("hosts").item(l))
				}
			}
			for k, host := range dc.Hosts {
				hosts.add(host.Replicas, at.key("hosts").item(k))
			}
			for k, vm := range dc.VMs {
				vms.add(vm.Replicas, at.key("vms").item(k))
			}
		}
	}
	return !vcenters.over && !datacenters.over && !hosts.over && !vms.over
}

// tally counts one kind of object up to a limit.
type tally struct {
	*problems
	noun        string
	count, most int
	over        bool
}

// add counts a group; zero replicas are an entry that stands for itself. Past the limit, only those that go over it on
// their own are reported after the first.
func (c *tally) add(replicas int, at *path) {
	if count := max(replicas, 1); count <= c.most-c.count {
		c.count += count
		return
	}
	if replicas > 1 {
		at = at.key("replicas")
	}
	if !c.over || replicas > c.most {
		c.field(at, "", "makes more than the %d %s a topology may have", c.most, c.noun)
	}
	c.over = true
}
