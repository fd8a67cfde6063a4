package topology

import "slices"

// placeVMs gives every VM its host, compute cluster and datastore, and checks those and the networks that it names.
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
	// mounts holds each host's datastores in the order of the file; byName the host behind a name.
	mounts map[string][]string
	byName map[string]sitedHost
	groups map[string][]sitedHost
	// turn counts the VMs that each compute cluster has taken.
	turn map[string]int
}

func newPlacing(p *problems, s *site) *placing {
	g := &placing{
		problems: p, site: s, where: "datacenter " + shown(s.datacenter.Name),
		hostScope: newScope(p, "host"), clusters: newScope(p, "compute cluster"),
		stores: newScope(p, "datastore"), networks: newScope(p, "network"),
		mounts: map[string][]string{}, byName: map[string]sitedHost{}, groups: map[string][]sitedHost{}, turn: map[string]int{},
	}
	for _, host := range s.hosts {
		g.know(g.hostScope, host.Name)
		g.byName[host.Name] = host
		if host.cluster != nil {
			g.groups[host.cluster.Name] = append(g.groups[host.cluster.Name], host)
		}
	}
	for _, cluster := range s.datacenter.Clusters {
		g.know(g.clusters, cluster.Name)
	}
	for _, network := range s.datacenter.Networks {
		g.know(g.networks, network.Name)
	}
	for _, store := range s.datacenter.Datastores {
		g.know(g.stores, store.Name)
		on := store.Hosts
		if len(on) == 0 {
			on = s.hostNames()
		}
		for _, host := range on {
			g.mounts[host] = append(g.mounts[host], store.Name)
		}
	}
	g.forgive("hosts", g.hostScope)
	g.forgive("clusters", g.clusters, g.hostScope)
	g.forgive("datastores", g.stores)
	g.forgive("networks", g.networks)
	return g
}

// know enters a name whose doubles have been reported already.
func (g *placing) know(s *scope, name string) {
	s.broken = s.broken || name == ""
	s.seen[name] = nil
}

// forgive lets references pass to a list that could not be read.
func (g *placing) forgive(key string, scopes ...*scope) {
	for _, s := range scopes {
		s.broken = s.broken || g.has(g.at.key(key))
	}
}

func (g *placing) all() {
	for i := range g.datacenter.VMs {
		vm, at := &g.datacenter.VMs[i], g.vms[i]
		for j, nic := range vm.NICs {
			g.networks.refer(nic.Network, at.key("nics").item(j).key("network"), g.where)
		}
		if vm.Datastore != "" && !g.stores.refer(vm.Datastore, at.key("datastore"), g.where) {
			continue
		}
		if host, ok := g.host(vm, at); ok {
			g.put(vm, host)
		}
	}
}

func (g *placing) put(vm *VM, host sitedHost) {
	vm.Host, vm.Cluster = host.Name, ""
	if host.cluster != nil {
		vm.Cluster = host.cluster.Name
	}
	if stores := g.mounts[host.Name]; len(stores) > 0 {
		fill(&vm.Datastore, stores[0])
	}
}

// host is where the VM goes: the host it names, or the next one of its compute cluster.
func (g *placing) host(vm *VM, at *path) (sitedHost, bool) {
	if vm.Cluster != "" && !g.clusters.refer(vm.Cluster, at.key("cluster"), g.where) {
		return sitedHost{}, false
	}
	if vm.Host != "" {
		return g.named(vm, at)
	}
	if vm.Cluster != "" {
		return g.next(vm, g.groups[vm.Cluster], vm.Cluster, at.key("cluster"))
	}
	clusters, alone := g.datacenter.Clusters, g.datacenter.Hosts
	switch {
	case len(clusters) == 1 && len(alone) == 0:
		return g.next(vm, g.groups[clusters[0].Name], clusters[0].Name, at)
	case len(clusters) == 0 && len(alone) == 1:
		return g.next(vm, g.hosts, "", at)
	case len(clusters)+len(alone) == 0:
		if !g.hostScope.broken {
			g.field(at, "", "has nowhere to run: %s has no compute cluster and no host", g.where)
		}
	default:
		g.field(at, "", "needs cluster: or host:, as %s has more than one compute resource", g.where)
	}
	return sitedHost{}, false
}

func (g *placing) named(vm *VM, at *path) (sitedHost, bool) {
	at = at.key("host")
	if !g.hostScope.refer(vm.Host, at, g.where) {
		return sitedHost{}, false
	}
	host := g.byName[vm.Host]
	switch {
	case vm.Cluster != "" && (host.cluster == nil || host.cluster.Name != vm.Cluster):
		g.field(at, "", "%s is not in compute cluster %s", shown(vm.Host), shown(vm.Cluster))
	case !g.suits(vm, host):
		g.field(at, "", "%s does not mount %s", shown(vm.Host), g.wanted(vm))
	default:
		return host, true
	}
	return sitedHost{}, false
}

// next takes the hosts of a compute cluster in turn, passing over those that do not mount what the VM needs.
func (g *placing) next(vm *VM, hosts []sitedHost, cluster string, at *path) (sitedHost, bool) {
	for range hosts {
		host := hosts[g.turn[cluster]%len(hosts)]
		g.turn[cluster]++
		if g.suits(vm, host) {
			return host, true
		}
	}
	if len(hosts) > 0 {
		g.field(at, "", "no host there mounts %s", g.wanted(vm))
	}
	return sitedHost{}, false
}

// suits tells whether the host mounts the VM's datastore, or any if it names none.
func (g *placing) suits(vm *VM, host sitedHost) bool {
	if g.stores.broken {
		return true
	}
	if vm.Datastore == "" {
		return len(g.mounts[host.Name]) > 0
	}
	return slices.Contains(g.mounts[host.Name], vm.Datastore)
}

func (g *placing) wanted(vm *VM) string {
	if vm.Datastore == "" {
		return "any datastore"
	}
	return "datastore " + shown(vm.Datastore)
}
