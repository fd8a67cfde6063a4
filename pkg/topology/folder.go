package topology

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// folder is where a topology's files are.
type folder struct {
	files fs.FS
	// dir is put before their names in messages.
	dir string
	// path, for a folder of the machine, is opened when a file of it is wanted, which most topologies never do.
	path string
	root *os.Root
}

// name is what people know a file of the folder as.
func (f *folder) name(file string) string {
	return filepath.Join(f.dir, filepath.FromSlash(file))
}

// read reads a file that has at most room bytes.
func (f *folder) read(name string, room int) ([]byte, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	// Asked before it is opened: opening a pipe would wait for a writer.
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
	defer file.Close() // only read from: closing cannot lose anything
	return input.ReadAll(file, "", int64(room))
}

// list is the names of files beside one that is not there, for hints.
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

// open opens a folder of the machine in such a way that nothing outside it can be read through it.
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

// close lets go of what open opened.
func (f *folder) close() {
	if f.root != nil {
		_ = f.root.Close() // only read from: closing cannot lose anything
	}
}

// Place is the region and zone that a VM is effectively in: those of the nearest ancestor that has one, each on its own,
// from the VM's host over its compute cluster and datacenter to the datacenter's folders, the innermost first, and the
// root folder. Tags that objects carry in the two categories count as region: and zone: do; of several, the first. This
// is what a cloud provider has to find out, so it is what tests expect of one. Both are empty where no ancestor has any.
func (t *Topology) Place(ref VMRef) Place {
	cluster, host := ref.Datacenter.Host(ref.VM.Host)
	return t.placeOf(ref.VCenter, ref.Datacenter, cluster, host)
}

// placeOf is the region and zone of the VMs on a host; cluster and host may be nil.
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

// lacks reports what the host does not have that the VM needs.
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

// stored reports whether the host mounts the VM's datastore, or any if it names none.
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
