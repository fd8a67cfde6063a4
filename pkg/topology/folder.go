package topology

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// folder is the folder of a topology's files.
type folder struct {
	files fs.FS
	// dir precedes their names in messages.
	dir string
	// path, for a folder on disk, is opened when a file of it is needed, which is rare.
	path string
	root *os.Root
}

// name returns the name of a file in messages.
func (f *folder) name(file string) string {
	return filepath.Join(f.dir, filepath.FromSlash(file))
}

// read reads a file of at most room bytes.
func (f *folder) read(name string, room int) ([]byte, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	// Before opening: opening a pipe would block.
	switch info, err := fs.Stat(f.files, name); {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("is a directory")
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	}
	file, err := f.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read: closing cannot lose data
	return input.ReadAll(file, "", int64(room))
}

// list returns the names of files beside a missing one, for hints.
func (f *folder) list(dir string) []string {
	entries, err := fs.ReadDir(f.files, dir)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		if !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// open opens a folder on disk without access to files outside of it.
func (f *folder) open() error {
	if f.files != nil {
		return nil
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return err
	}
	f.root, f.files = root, root.FS()
	return nil
}

// close closes what open opened.
func (f *folder) close() {
	if f.root != nil {
		_ = f.root.Close() // only read: closing cannot lose data
	}
}

// Place returns the region and zone of a VM: for each, that of the nearest ancestor that has one, from the VM's host over its
// compute cluster and datacenter to the datacenter's folders, innermost first, and the root folder. Tags of the two categories
// count like region: and zone:; of several, the first. A cloud provider must find the same, so tests compare with it. Missing
// ones are empty.
func (t *Topology) Place(ref VMRef) Place {
	cluster, host := ref.Datacenter.Host(ref.VM.Host)
	return t.placeOf(ref.VCenter, ref.Datacenter, cluster, host)
}

// FileService reports whether a cluster has the file service of vSAN.
func (t *Topology) FileService() bool {
	for i := range t.Spec.VCenters {
		for j := range t.Spec.VCenters[i].Datacenters {
			for _, c := range t.Spec.VCenters[i].Datacenters[j].Clusters {
				if c.VSAN.FileService {
					return true
				}
			}
		}
	}
	return false
}

// Zoned reports whether configurations for the topology's nodes name its tag categories: a node has both a region and a zone,
// or any VM does if no VM is a node. One of the two alone is no place for the cloud provider and the CSI driver.
func (t *Topology) Zoned() bool {
	anyNode := t.Count().Nodes > 0
	for ref := range t.AllVMs() {
		if p := t.Place(ref); (ref.VM.IsNode() || !anyNode) && p.Region != "" && p.Zone != "" {
			return true
		}
	}
	return false
}

// placeOf returns the region and zone of the VMs on a host; cluster and host may be nil.
func (t *Topology) placeOf(vcenter *VCenter, dc *Datacenter, cluster *Cluster, host *Host) Place {
	var place Place
	near := func(p Place, tags []Tag) {
		fill(&place.Region, p.Region)
		fill(&place.Zone, p.Zone)
		for _, tag := range tags {
			switch tag.Category {
			case t.Spec.Categories.Region:
				fill(&place.Region, tag.Name)
			case t.Spec.Categories.Zone:
				fill(&place.Zone, tag.Name)
			}
		}
	}
	if host != nil {
		near(host.Place, host.Tags)
	}
	if cluster != nil {
		near(cluster.Place, cluster.Tags)
	}
	near(dc.Place, dc.Tags)
	for path := range ancestors(dc.Folder) {
		for _, folder := range vcenter.Folders {
			if folder.Path == path {
				near(folder.Place, folder.Tags)
			}
		}
	}
	near(Place{}, vcenter.Tags)
	return place
}

// placeVMs assigns every VM its host, compute cluster and datastore, and checks those and its pools and networks.
func placeVMs(p *problems, sites []*site) {
	for _, s := range sites {
		newPlacing(p, s).all()
		resolveVMGroups(p, s)
	}
}

// placing is a datacenter for the placement of VMs.
type placing struct {
	*problems
	*site
	where                                 string // for messages
	hostScope, clusters, stores, networks *scope
	// byName are the hosts by name; groups are the hosts of each compute cluster.
	byName map[string]sitedHost
	groups map[string][]sitedHost
	// pools are the paths of pools in each compute resource, by its name.
	pools map[string]*scope
	// mounts are the datastores by name, on the switches of port groups.
	mounts map[string]members
	on     map[string]members
	// turn counts the VMs that were placed, for each compute cluster and for spreading.
	turn map[string]int
}

// The keys for spreading, which are not valid names of compute clusters.
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

// pooled records the pools of a compute resource.
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
			g.references(vm, at)
			continue
		}
		if host, ok := g.host(vm, at); ok {
			g.put(vm, host)
		}
	}
}

// references reports unknown names in a VM that cannot be placed.
func (g *placing) references(vm *VM, at *path) {
	if vm.Cluster != "" {
		g.clusters.refer(vm.Cluster, at.key("cluster"), g.where)
	}
	if vm.Host != "" {
		g.hostScope.refer(vm.Host, at.key("host"), g.where)
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

// host returns the host of a VM: the one that it names, or the next one of its compute cluster or of its spread.
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

// next returns the next host in turn that has what the VM needs.
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

// pick returns the next host that has what the VM needs, or else the last unmet need among the hosts.
func (g *placing) pick(vm *VM, hosts []sitedHost, turn string) (sitedHost, need) {
	most := nothing
	for _, all := range []bool{true, false} { // hosts that meet all rules, then those that meet the mandatory ones
		for range hosts {
			host := hosts[g.turn[turn]%len(hosts)]
			g.turn[turn]++
			lack := g.lacks(vm, host)
			if lack == nothing && (!all || host.against(vm, false) == nil) {
				return host, nothing
			}
			most = max(most, lack)
		}
	}
	return sitedHost{}, most
}

// members are the hosts of a datastore or switch.
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

// need is a requirement of a VM on its host, in the order of the checks.
type need int

const (
	nothing need = iota
	aDatastore
	aNetwork
	aPool
	aRule
)

// lacks returns the need of the VM that the host does not meet.
func (g *placing) lacks(vm *VM, host sitedHost) need {
	switch {
	case !g.stores.broken && !g.stored(vm, host):
		return aDatastore
	case g.unreached(vm, host) != "":
		return aNetwork
	case vm.Pool != "" && !g.hasPool(vm.Pool, host):
		return aPool
	case host.against(vm, true) != nil:
		return aRule
	}
	return nothing
}

// stored reports whether the host mounts the VM's datastore, or any if the VM names none.
func (g *placing) stored(vm *VM, host sitedHost) bool {
	if vm.Datastore != "" {
		return g.mounts[vm.Datastore].has(host)
	}
	return slices.ContainsFunc(g.datacenter.Datastores, func(store Datastore) bool { return g.mounts[store.Name].has(host) })
}

// unreached returns the first of the VM's networks that the host does not have: only members of a switch have its port groups.
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

// complain reports that no host meets a need.
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
	case aRule:
		rule := (*HostRule)(nil)
		for _, host := range hosts {
			if rule = host.against(vm, true); rule != nil {
				break
			}
		}
		verb := "is"
		if who == strict.Shown(vm.Host) {
			verb = "is not"
		}
		g.field(field, "", "%s %s one that %s allows", who, verb, rule.shown())
	case aPool:
		// Be specific if there is only one compute resource.
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
