package topology

import (
	"net/netip"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// checkDatacenter checks a datacenter without its VMs. Hosts must be unique in the vCenter, which identifies them by DNS name;
// other names in the datacenter.
func checkDatacenter(p *problems, m *marking, s *site, hosts *scope) {
	dc, at := s.datacenter, s.at
	m.check(dc.Marks, dc.Place, typeDatacenter, at)

	// Compute clusters and standalone hosts share a folder of the vCenter.
	compute, clusters := newScope(p, "compute cluster or host"), newScope(p, "compute cluster")
	for i := range dc.Clusters {
		cluster, at := &dc.Clusters[i], at.key("clusters").item(i)
		checkName(p, at.key("name"), cluster.Name, inventoryName)
		checkHas(p, at.key("hosts"), len(cluster.Hosts), "host")
		m.check(cluster.Marks, cluster.Place, typeCluster, at)
		checkPools(p, m, cluster.Pools, cluster.VApps, at, 1)
		checkPlacement(p, cluster, at)
		compute.add(cluster.Name, at.key("name"))
		clusters.enter(cluster.Name, at.key("name"))
	}
	clusters.forgive(at.key("clusters"))
	mounting := newScope(p, "host")
	var last *path
	for _, host := range s.hosts {
		checkHost(p, m, host, host.at != last)
		last = host.at
		hosts.add(host.Name, host.at.key("name"))
		mounting.enter(host.Name, host.at.key("name"))
		if host.cluster == nil {
			compute.add(host.Name, host.at.key("name"))
		}
	}
	mounting.forgive(at.key("hosts"))
	mounting.forgive(at.key("clusters"))
	checkNetworks(p, m, s, mounting, clusters)
	checkDatastores(p, m, s, mounting, clusters)
}

// checkHost checks a host; it checks what replicas share only for the first one.
func checkHost(p *problems, m *marking, host sitedHost, first bool) {
	checkName(p, host.at.key("name"), host.Name, hostName)
	m.check(host.Marks, host.Place, typeHost, host.at)
	if !first {
		return
	}
	checkMost(p, host.at.key("cpus"), host.CPUs, maxHostCPUs)
	checkMemory(p, host.at.key("memory"), host.Memory)
	if host.cluster != nil && len(host.Pools) > 0 {
		p.field(host.at.key("pools"), "", "are for standalone hosts: this one is in compute cluster %s, which can have them", strict.Shown(host.cluster.Name))
		return
	}
	checkPools(p, m, host.Pools, nil, host.at, 1)
}

// checkFolders checks a vCenter's datacenter folders: listed ones, and those named by datacenters.
func checkFolders(p *problems, m *marking, vcenter *VCenter, at *path, sites []*site) {
	used := newScope(p, "datacenter folder")
	for _, s := range sites {
		checkOptional(p, s.at.key("folder"), s.datacenter.Folder, folderPath)
		for folder := range ancestors(s.datacenter.Folder) {
			used.seen[folder] = s.at.key("folder")
		}
	}
	all := map[string]bool{}
	for folder := range used.seen {
		all[folder] = true
	}
	listed := newScope(p, "folder")
	for i := range vcenter.Folders {
		folder, at := &vcenter.Folders[i], at.key("folders").item(i)
		checkFolder(p, m, folder, listed, all, at)
		// An empty folder is valid, but its region or zone has no effect.
		if folder.Path != "" && folder.Place != (Place{}) {
			used.refer(folder.Path, at.key("path"), "vCenter "+strict.Shown(vcenter.Name))
		}
	}
	for _, s := range sites {
		if all[join(s.datacenter.Folder, s.datacenter.Name)] {
			p.field(s.at.key("name"), "", "is also the name of a folder in the same place")
		}
	}
}

// checkVMFolders checks the VM folders of a datacenter, and returns all of them.
func checkVMFolders(p *problems, m *marking, s *site) map[string]bool {
	all := map[string]bool{}
	for i := range s.datacenter.VMs {
		for folder := range ancestors(s.datacenter.VMs[i].Folder) {
			if all[folder] {
				break
			}
			all[folder] = true
		}
	}
	listed := newScope(p, "folder")
	for i := range s.datacenter.Folders {
		checkFolder(p, m, &s.datacenter.Folders[i], listed, all, s.at.key("folders").item(i))
	}
	return all
}

func checkFolder(p *problems, m *marking, folder *Folder, listed *scope, all map[string]bool, at *path) {
	checkName(p, at.key("path"), folder.Path, folderPath)
	listed.add(folder.Path, at.key("path"))
	m.check(folder.Marks, folder.Place, typeFolder, at)
	for path := range ancestors(folder.Path) {
		all[path] = true
	}
}

// ancestors iterates over a folder and its parents, innermost first.
func ancestors(folder string) func(func(string) bool) {
	return func(yield func(string) bool) {
		if len(folder) > maxFolderPath {
			return
		}
		for folder != "" && yield(folder) {
			folder = folder[:max(strings.LastIndexByte(folder, '/'), 0)]
		}
	}
}

// join appends a name to a folder, which may be the root.
func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// The largest volumes: of VMFS 6, and a limit for typos in others.
const (
	maxVMFS     = 64 * Ti
	maxCapacity = 4096 * Ti
)

func checkDatastores(p *problems, m *marking, s *site, hosts, clusters *scope) {
	datastores := newScope(p, "datastore")
	for i := range s.datacenter.Datastores {
		datastore, at := &s.datacenter.Datastores[i], s.at.key("datastores").item(i)
		checkName(p, at.key("name"), datastore.Name, inventoryName)
		datastores.add(datastore.Name, at.key("name"))
		most := maxCapacity
		if datastore.Type == VMFS {
			most = maxVMFS
		}
		checkMost(p, at.key("capacity"), datastore.Capacity, most)
		if datastore.Used > max(datastore.Capacity, 0) {
			p.field(at.key("used"), "", "is more than the datastore holds, which is %v", datastore.Capacity)
		}
		checkMembers(s, datastore.Hosts, datastore.Clusters, at, hosts, clusters)
		m.check(datastore.Marks, Place{}, typeDatastore, at)
	}
}

// checkPools checks the resource pools and vApps of a compute resource or a pool, recursively.
func checkPools(p *problems, m *marking, pools []Pool, vapps []VApp, at *path, depth int) {
	names := newScope(p, "resource pool or vApp")
	for i := range pools {
		pool, at := &pools[i], at.key("pools").item(i)
		checkName(p, at.key("name"), pool.Name, inventoryName)
		names.add(pool.Name, at.key("name"))
		m.check(pool.Marks, Place{}, typePool, at)
		if depth == maxPoolDepth && len(pool.Pools)+len(pool.VApps) > 0 {
			p.field(at, "", "has pools or vApps below it, which would be deeper than the %d levels that vSphere nests", maxPoolDepth)
			continue
		}
		checkPools(p, m, pool.Pools, pool.VApps, at, depth+1)
	}
	for i := range vapps {
		vapp, at := &vapps[i], at.key("vapps").item(i)
		checkName(p, at.key("name"), vapp.Name, inventoryName)
		names.add(vapp.Name, at.key("name"))
		m.check(vapp.Marks, Place{}, typeVApp, at)
	}
}

// poolPaths adds the paths of pools and vApps below prefix to the scope.
func poolPaths(into *scope, pools []Pool, vapps []VApp, prefix string, depth int) {
	if depth > maxPoolDepth {
		return
	}
	for i := range pools {
		path := join(prefix, pools[i].Name)
		into.enter(path, nil)
		poolPaths(into, pools[i].Pools, pools[i].VApps, path, depth+1)
	}
	for i := range vapps {
		into.enter(join(prefix, vapps[i].Name), nil)
	}
}

const maxVLAN = 4094

// checkNetworks checks a datacenter's networks and distributed switches, which share a folder.
func checkNetworks(p *problems, m *marking, s *site, hosts, clusters *scope) {
	dc := s.datacenter
	networks := newScope(p, "network")
	for i := range dc.Networks {
		at := s.at.key("networks").item(i)
		checkNetwork(p, &dc.Networks[i], networks, at)
		m.check(dc.Networks[i].Marks, Place{}, typeNetwork, at)
	}
	for i := range dc.Switches {
		sw, at := &dc.Switches[i], s.at.key("switches").item(i)
		checkMembers(s, sw.Hosts, sw.Clusters, at, hosts, clusters)
		m.check(sw.Marks, Place{}, typeSwitch, at)
		checkHas(p, at.key("portGroups"), len(sw.PortGroups), "port group")
		for j := range sw.PortGroups {
			group, at := &sw.PortGroups[j], at.key("portGroups").item(j)
			checkNetwork(p, &group.Network, networks, at)
			checkMost(p, at.key("vlan"), group.VLAN, maxVLAN)
			m.check(group.Marks, Place{}, typePortGroup, at)
		}
	}
	switches := newScope(p, "switch")
	for i, sw := range dc.Switches {
		at := s.at.key("switches").item(i).key("name")
		checkName(p, at, sw.Name, inventoryName)
		switches.add(sw.Name, at)
		if first, taken := networks.seen[sw.Name]; taken && sw.Name != "" {
			p.field(at, "", "is also the name of a network, on line %s", p.line(at, first))
		}
	}
}

func checkNetwork(p *problems, network *Network, networks *scope, at *path) {
	checkName(p, at.key("name"), network.Name, inventoryName)
	networks.add(network.Name, at.key("name"))
	if network.CIDR == "" {
		return
	}
	if _, err := parseSubnet(network.CIDR); err != nil {
		hint := ""
		if prefix, err := netip.ParsePrefix(network.CIDR); err == nil {
			if _, err := parseSubnet(prefix.Masked().String()); err == nil {
				hint = prefix.Masked().String()
			}
		}
		p.field(at.key("cidr"), hint, "%v", err)
	}
}

// checkMembers checks the hosts and clusters of a datastore or switch.
func checkMembers(s *site, hosts, clusters []string, at *path, allHosts, allClusters *scope) {
	where := "datacenter " + strict.Shown(s.datacenter.Name)
	allHosts.referAll(hosts, at.key("hosts"), where)
	allClusters.referAll(clusters, at.key("clusters"), where)
}

// checkVMs checks a datacenter's VMs without their placement and identities. Names of nodes must be unique in the topology,
// because all join one Kubernetes cluster.
func checkVMs(p *problems, m *marking, spec *Spec, s *site, nodes *scope) {
	vms, folders := newScope(p, "VM"), checkVMFolders(p, m, s)
	twins, cousins := spec.AllowsDuplicate(DuplicateName), spec.AllowsDuplicate(DuplicateHostname)
	var last *path
	for i := range s.datacenter.VMs {
		vm, at := &s.datacenter.VMs[i], s.vms[i]
		checkName(p, at.key("name"), vm.Name, inventoryName)
		checkOptional(p, at.key("folder"), vm.Folder, folderPath)
		if vm.Name != "" && !twins {
			vms.add(join(vm.Folder, vm.Name), at.key("name"))
		}
		if folders[join(vm.Folder, vm.Name)] {
			p.field(at.key("name"), "", "is also the name of a VM folder in the same place")
		}
		checkHostname(p, vm, at, nodes, cousins)
		if at != last {
			checkVM(p, m, s.vcenter, vm, at)
		}
		last = at
	}
}

// checkVM checks what all replicas of a group share.
func checkVM(p *problems, m *marking, vcenter *VCenter, vm *VM, at *path) {
	m.check(vm.Marks, Place{}, typeVM, at)
	checkMost(p, at.key("cpus"), vm.CPUs, maxVMCPUs)
	checkMemory(p, at.key("memory"), vm.Memory)
	checkOptional(p, at.key("guestID"), vm.GuestID, guestID)
	checkHardware(p, vcenter, vm.HardwareVersion, at.key("hardwareVersion"))
	checkExtraConfig(p, vm, at.key("extraConfig"))
	snapshots := newScope(p, "snapshot")
	for i, snapshot := range vm.Snapshots {
		at := at.key("snapshots").item(i).key("name")
		checkName(p, at, snapshot.Name, freeName)
		snapshots.add(snapshot.Name, at)
	}
	if vm.Nodes != "" && !vm.IsNode() {
		p.field(at.key("nodes"), "", "is for VMs with a role: this one is no node")
	}
	checkRelease(p, at.key("kubelet"), vm.Kubelet)
	if vm.Kubelet != "" && !vm.IsNode() {
		p.field(at.key("kubelet"), "", "is for VMs with a role: this one is no node")
	}
	if vm.Kubelet != "" && vm.Nodes == NodesLight {
		p.field(at.key("kubelet"), "", "is for hollow nodes: a light one has no kubelet")
	}
	if vm.Clones != nil {
		checkClones(p, vm, at)
	}
	if vm.Template == Yes {
		checkTemplate(p, vm, at)
	}
}

// checkClones checks the rule for clones.
func checkClones(p *problems, vm *VM, at *path) {
	if vm.Template != Yes {
		p.field(at.key("clones"), "template: yes", "is for templates")
	}
	if vm.Clones.Role == "" {
		p.field(at.key("clones").key("role"), "", "is required")
	}
}

// checkTemplate reports settings that a template cannot have.
func checkTemplate(p *problems, vm *VM, at *path) {
	if vm.IsNode() {
		p.field(at.key("role"), "", "is for VMs that run: a template is no node")
	}
	if vm.Power == PowerOn {
		p.field(at.key("power"), "", "must be off: a template has no power")
	}
	if vm.Pool != "" {
		p.field(at.key("pool"), "", "is for VMs that run: a template is in no resource pool")
	}
	if vm.GuestInfo == Yes {
		p.field(at.key("guestInfo"), "", "is for VMs that run: a template has no addresses")
	}
	for i, nic := range vm.NICs {
		if len(nic.Addresses) > 0 {
			p.field(at.key("nics").item(i).key("addresses"), "", "are for VMs that run: a template has none")
		}
	}
}

// checkExtraConfig checks a VM's advanced configuration.
func checkExtraConfig(p *problems, vm *VM, at *path) {
	keys := newScope(p, "key")
	for i, setting := range vm.ExtraConfig {
		at := at.item(i)
		checkName(p, at.key("key"), setting.Key, freeName)
		checkName(p, at.key("value"), setting.Value, anyName)
		keys.add(setting.Key, at.key("key"))
		if why := reserved(setting.Key); why != "" {
			p.field(at.key("key"), "", "%s", why)
		}
		if vm.GuestInfo == Yes && (setting.Key == "guestinfo.metadata" || setting.Key == "guestinfo.metadata.encoding") {
			p.field(at.key("key"), "", "is set by guestInfo: yes")
		}
	}
}

// reserved returns the reason why a key of extraConfig is not allowed, or "".
func reserved(key string) string {
	lower := strings.ToLower(key)
	if key == "ip0" || strings.HasPrefix(lower, "set.") || strings.HasPrefix(lower, "run.") {
		return "is an instruction to vcsim, which no vCenter knows"
	}
	own, ok := map[string]string{
		"displayname": "name", "numvcpus": "cpus", "memsize": "memory", "guestos": "guestID", "uuid.bios": "uuid",
		"vc.uuid": "instanceUUID", "virtualhw.version": "hardwareVersion",
	}[lower]
	if ok {
		return "is set by the field " + own
	}
	return ""
}

// checkHostname sets and checks the hostname, which is the name of a node's Node object. It reports an invalid hostname that
// comes from the VM's name for that name.
func checkHostname(p *problems, vm *VM, at *path, nodes *scope, twice bool) {
	field := at.key("hostname")
	if vm.Hostname == "" {
		field = at.key("name")
		vm.Hostname = vm.Name
		if !vm.IsNode() {
			if vm.Hostname = tamed(vm.Name, true); !isSubdomain(vm.Hostname) {
				vm.Hostname = ""
			}
		}
	}
	if !vm.IsNode() {
		checkOptional(p, field, vm.Hostname, dnsName)
		return
	}
	if vm.Hostname == "" {
		return // the missing name is reported
	}
	checkOptional(p, field, vm.Hostname, nodeName)
	if !twice {
		nodes.add(vm.Hostname, field)
	}
}
