package topology

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// checkFolders checks a vCenter's datacenter folders, those that its datacenters name as well as those it lists.
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
		// Empty folders are fine, but a region or zone is meant for somebody.
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

// checkVMFolders checks the VM folders that a datacenter lists, and returns all there are.
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

// ancestors runs over a folder and those around it, the innermost first.
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

// join puts a name into a folder, which may be the root.
func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}
