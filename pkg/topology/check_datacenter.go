package topology

import (
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
	used := newScope(p, "datacenter in folder")
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
