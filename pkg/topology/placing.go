package topology

import "github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"

// placeVMs gives every VM its host, compute cluster and datastore, and checks those and the pools and networks that it
// names.
func placeVMs(p *problems, sites []*site) {
	for _, s := range sites {
		newPlacing(p, s).all()
	}
}

// placing is a datacenter as VMs choose in it.
type placing struct {
	*problems
	*site
	where                                 string // for messages
	hostScope, clusters, stores, networks *scope
	// byName is the host behind a name; groups are the hosts of each compute cluster.
	byName map[string]sitedHost
	groups map[string][]sitedHost
	// pools are the paths of pools in each compute resource, by its name.
	pools map[string]*scope
	// mounts are the datastores by name, on the switches behind port groups.
	mounts map[string]members
	on     map[string]members
	// turn counts the VMs that each compute cluster has taken, and spreading has.
	turn map[string]int
}

// The turns of spreading; no compute cluster has such a name.
const (
	turnOfHosts    = "\x00hosts"
	turnOfClusters = "\x00clusters"
)

func newPlacing(p *problems, s *site) *placing {
	g := &placing{
		problems: p, site: s, where: "datacenter " + strict.Shown(s.datacenter.Name),
		hostScope: newScope(p, "host"), clusters: newScope(p, "compute cluster"),
		stores: newScope(p, "datastore"), networks: newScope(p, "network"),
		byName: map[string]sitedHost{}, groups: map[string][]sitedHost{}, pools: map[string]*scope{},
		mounts: map[string]members{}, on: map[string]members{}, turn: map[string]int{},
	}
	for _, host := range s.hosts {
		g.hostScope.enter(host.Name, nil)
		g.byName[host.Name] = host
		if host.cluster != nil {
			g.groups[host.cluster.Name] = append(g.groups[host.cluster.Name], host)
		} else {
			g.pooled(host.Name, host.Pools, nil, host.at)
		}
	}
	for i, cluster := range s.datacenter.Clusters {
		g.clusters.enter(cluster.Name, nil)
		g.pooled(cluster.Name, cluster.Pools, cluster.VApps, s.at.key("clusters").item(i))
	}
	for sw, network := range s.datacenter.AllNetworks() {
		g.networks.enter(network.Name, nil)
		if sw != nil {
			g.on[network.Name] = newMembers(sw.Name, sw.Hosts, sw.Clusters)
		}
	}
	for _, store := range s.datacenter.Datastores {
		g.stores.enter(store.Name, nil)
		g.mounts[store.Name] = newMembers(store.Name, store.Hosts, store.Clusters)
	}
	g.hostScope.forgive(g.at.key("hosts"))
	g.hostScope.forgive(g.at.key("clusters"))
	g.clusters.forgive(g.at.key("clusters"))
	g.stores.forgive(g.at.key("datastores"))
	g.networks.forgive(g.at.key("networks"))
	g.networks.forgive(g.at.key("switches"))
	return g
}

// pooled notes the pools of a compute resource, if it has any.
func (g *placing) pooled(name string, pools []Pool, vapps []VApp, at *path) {
	s := newScope(g.problems, "resource pool or vApp")
	poolPaths(s, pools, vapps, "", 1)
	s.forgive(at.key("pools"))
	s.forgive(at.key("vapps"))
	if s.broken || len(s.seen) > 0 {
		g.pools[name] = s
	}
}

func (g *placing) all() {
	for i := range g.datacenter.VMs {
		vm, at := &g.datacenter.VMs[i], g.vms[i]
		known := true
		for j, nic := range vm.NICs {
			if _, ok := g.networks.seen[nic.Network]; !ok {
				known = g.networks.refer(nic.Network, at.key("nics").item(j).key("network"), g.where) && known
			}
		}
		if vm.Datastore != "" && !g.stores.refer(vm.Datastore, at.key("datastore"), g.where) {
			known = false
		}
		if !known {
			continue
		}
		if host, ok := g.host(vm, at); ok {
			g.put(vm, host)
		}
	}
}

func (g *placing) put(vm *VM, host sitedHost) {
	vm.Host, vm.Cluster, vm.Spread = host.Name, host.clusterName(), ""
	if vm.Datastore != "" {
		return
	}
	for _, store := range g.datacenter.Datastores {
		if g.mounts[store.Name].has(host) {
			vm.Datastore = store.Name
			return
		}
	}
}

// host is where the VM goes: the host it names, or the next one of its compute cluster or of all it is spread over.
func (g *placing) host(vm *VM, at *path) (sitedHost, bool) {
	if vm.Cluster != "" && !g.clusters.refer(vm.Cluster, at.key("cluster"), g.where) {
		return sitedHost{}, false
	}
	switch {
	case vm.Host != "" && vm.Spread != "":
		g.field(at.key("spread"), "", "has no effect beside host:")
	case vm.Host != "":
		return g.named(vm, at)
	case vm.Cluster != "" && vm.Spread == SpreadClusters:
		g.field(at.key("spread"), "", "has no effect beside cluster:")
	case vm.Cluster != "":
		return g.next(vm, g.groups[vm.Cluster], vm.Cluster, at.key("cluster"), at)
	default:
		return g.anywhere(vm, at)
	}
	return sitedHost{}, false
}

// anywhere places a VM that names neither host nor compute cluster.
func (g *placing) anywhere(vm *VM, at *path) (sitedHost, bool) {
	clusters, alone := g.datacenter.Clusters, g.datacenter.Hosts
	switch {
	case len(clusters)+len(alone) == 0:
		if !g.hostScope.broken {
			g.field(at, "", "has nowhere to run: %s has no compute cluster and no host", g.where)
		}
	case vm.Spread == SpreadHosts:
		return g.next(vm, g.hosts, turnOfHosts, at.key("spread"), at)
	case vm.Spread == SpreadClusters && len(clusters) == 0:
		g.field(at.key("spread"), "", "%s has no compute cluster", g.where)
	case vm.Spread == SpreadClusters:
		return g.overClusters(vm, at)
	case len(clusters) == 1 && len(alone) == 0:
		return g.next(vm, g.groups[clusters[0].Name], clusters[0].Name, at, at)
	case len(clusters) == 0 && len(alone) == 1:
		return g.next(vm, g.hosts, "", at, at)
	default:
		g.field(at, "", "needs cluster: or host:, as %s has more than one compute resource", g.where)
	}
	return sitedHost{}, false
}

func (g *placing) named(vm *VM, at *path) (sitedHost, bool) {
	if !g.hostScope.refer(vm.Host, at.key("host"), g.where) {
		return sitedHost{}, false
	}
	host := g.byName[vm.Host]
	if vm.Cluster != "" && host.clusterName() != vm.Cluster {
		g.field(at.key("host"), "", "%s is not in compute cluster %s", strict.Shown(vm.Host), strict.Shown(vm.Cluster))
		return sitedHost{}, false
	}
	if lack := g.lacks(vm, host); lack != nothing {
		g.complain(vm, []sitedHost{host}, lack, strict.Shown(vm.Host), at.key("host"), at)
		return sitedHost{}, false
	}
	return host, true
}

// next takes hosts in turn, passing over those that do not have what the VM needs.
func (g *placing) next(vm *VM, hosts []sitedHost, turn string, field, at *path) (sitedHost, bool) {
	host, lack := g.pick(vm, hosts, turn)
	if lack == nothing {
		return host, len(hosts) > 0
	}
	g.complain(vm, hosts, lack, "no host there", field, at)
	return sitedHost{}, false
}

// overClusters takes the compute clusters in turn, and the hosts of each.
func (g *placing) overClusters(vm *VM, at *path) (sitedHost, bool) {
	clusters, most := g.datacenter.Clusters, nothing
	for range clusters {
		cluster := clusters[g.turn[turnOfClusters]%len(clusters)].Name
		g.turn[turnOfClusters]++
		host, lack := g.pick(vm, g.groups[cluster], cluster)
		if lack == nothing && len(g.groups[cluster]) > 0 {
			return host, true
		}
		most = max(most, lack)
	}
	if most != nothing {
		g.complain(vm, g.hosts, most, "no host there", at.key("spread"), at)
	}
	return sitedHost{}, false
}

// pick is the next host that has what the VM needs, or the most that one of them comes to lack. Without hosts it is
// neither.
func (g *placing) pick(vm *VM, hosts []sitedHost, turn string) (sitedHost, need) {
	most := nothing
	for range hosts {
		host := hosts[g.turn[turn]%len(hosts)]
		g.turn[turn]++
		lack := g.lacks(vm, host)
		if lack == nothing {
			return host, nothing
		}
		most = max(most, lack)
	}
	return sitedHost{}, most
}
