package topology

// checkVMs checks a datacenter's VMs but for where they are placed and their identities. The names of nodes must differ
// in the whole topology, as they all join one Kubernetes cluster.
func checkVMs(p *problems, s *site, nodes *scope) {
	vms, folders := newScope(p, "VM"), map[string]bool{}
	for _, vm := range s.datacenter.VMs {
		for folder := range ancestors(vm.Folder) {
			if folders[folder] {
				break
			}
			folders[folder] = true
		}
	}
	for i := range s.datacenter.VMs {
		vm, at := &s.datacenter.VMs[i], s.vms[i]
		checkName(p, at.key("name"), vm.Name, inventoryName)
		checkOptional(p, at.key("folder"), vm.Folder, folderPath)
		if vm.Name != "" {
			vms.add(join(vm.Folder, vm.Name), at.key("name"))
		}
		if folders[join(vm.Folder, vm.Name)] {
			p.field(at.key("name"), "", "is also the name of a VM folder in the same place")
		}
		checkMost(p, at.key("cpus"), vm.CPUs, maxVMCPUs)
		checkMemory(p, at.key("memory"), vm.Memory)
		checkOptional(p, at.key("guestID"), vm.GuestID, guestID)
		checkHostname(p, vm, at, nodes)
	}
}

// checkHostname settles the hostname, which for a node becomes the name of its Node object. What is wrong with a
// hostname taken from the VM's name is wrong with that name.
func checkHostname(p *problems, vm *VM, at *path, nodes *scope) {
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
		return // its name is missing, and that is reported
	}
	checkOptional(p, field, vm.Hostname, nodeName)
	nodes.add(vm.Hostname, field)
}
