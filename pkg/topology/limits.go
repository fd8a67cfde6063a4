package topology

// countGroups adds up what there will be before any of it is made, and reports the group that goes too far.
func countGroups(p *problems, t *Topology) bool {
	hosts := tally{problems: p, most: maxHosts, noun: "hosts"}
	vms := tally{problems: p, most: maxVMs, noun: "VMs"}
	for i, vcenter := range t.Spec.VCenters {
		for j, dc := range vcenter.Datacenters {
			at := vcentersPath().item(i).key("datacenters").item(j)
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
	return !hosts.over && !vms.over
}

// tally counts one kind of object up to a limit.
type tally struct {
	*problems
	noun        string
	count, most int
	over        bool
}

func (c *tally) add(replicas int, at *path) {
	count := max(replicas, 1)
	if count <= c.most-c.count {
		c.count += count
		return
	}
	if replicas > 0 {
		at = at.key("replicas")
	}
	if !c.over || replicas > c.most {
		c.field(at, "", "makes more than the %d %s a topology may have", c.most, c.noun)
	}
	c.over = true
}
