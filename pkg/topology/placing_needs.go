package topology

import "github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"

// members are hosts that mount a datastore or are on a switch.
type members struct {
	name     string // of the datastore or switch
	all      bool
	hosts    map[string]bool
	clusters map[string]bool
}

func newMembers(name string, hosts, clusters []string) members {
	m := members{name: name, all: len(hosts)+len(clusters) == 0, hosts: map[string]bool{}, clusters: map[string]bool{}}
	for _, host := range hosts {
		m.hosts[host] = true
	}
	for _, cluster := range clusters {
		m.clusters[cluster] = true
	}
	return m
}

func (m members) has(host sitedHost) bool {
	return m.all || m.hosts[host.Name] || host.cluster != nil && m.clusters[host.cluster.Name]
}

// need is something that a VM needs of its host, in the order in which it is looked for.
type need int

const (
	nothing need = iota
	aDatastore
	aNetwork
	aPool
)

// lacks tells what the host does not have that the VM needs.
func (g *placing) lacks(vm *VM, host sitedHost) need {
	switch {
	case !g.stores.broken && !g.stored(vm, host):
		return aDatastore
	case g.unreached(vm, host) != "":
		return aNetwork
	case vm.Pool != "" && !g.hasPool(vm.Pool, host):
		return aPool
	}
	return nothing
}

// stored tells whether the host mounts the VM's datastore, or any if it names none.
func (g *placing) stored(vm *VM, host sitedHost) bool {
	if vm.Datastore != "" {
		return g.mounts[vm.Datastore].has(host)
	}
	for _, store := range g.datacenter.Datastores {
		if g.mounts[store.Name].has(host) {
			return true
		}
	}
	return false
}

// unreached is the first of the VM's networks that the host is not on, as only the members of a switch are on its port
// groups.
func (g *placing) unreached(vm *VM, host sitedHost) string {
	for i := range vm.NICs {
		if on, is := g.on[vm.NICs[i].Network]; is && !on.has(host) {
			return vm.NICs[i].Network
		}
	}
	return ""
}

func (g *placing) hasPool(path string, host sitedHost) bool {
	pools := g.pools[host.compute()]
	if pools == nil {
		return false
	}
	_, has := pools.seen[path]
	return has || pools.broken
}

// complain reports hosts that all lack something, which some of them come to lack only after all else is there.
func (g *placing) complain(vm *VM, hosts []sitedHost, lack need, who string, field, at *path) {
	switch lack {
	case aDatastore:
		wanted := "any datastore"
		if vm.Datastore != "" {
			wanted = "datastore " + strict.Shown(vm.Datastore)
		}
		verb := "mounts"
		if who == strict.Shown(vm.Host) {
			verb = "does not mount"
		}
		g.field(field, "", "%s %s %s", who, verb, wanted)
	case aNetwork:
		network := ""
		for _, host := range hosts {
			if network = g.unreached(vm, host); network != "" {
				break
			}
		}
		verb := "is"
		if who == strict.Shown(vm.Host) {
			verb = "is not"
		}
		g.field(field, "", "%s %s on switch %s, which port group %s is of", who, verb, strict.Shown(g.on[network].name), strict.Shown(network))
	case aPool:
		// Where there is but one compute resource to look in, say so.
		compute := hosts[0].compute()
		where, candidates := "compute resource "+strict.Shown(compute), g.pools[compute]
		for _, host := range hosts {
			if host.compute() != compute {
				where, candidates = "any compute resource of "+g.where, nil
			}
		}
		if candidates == nil {
			candidates = newScope(g.problems, "resource pool or vApp")
		}
		candidates.refer(vm.Pool, at.key("pool"), where)
	}
}
