package topology

import "strings"

// checkVMs checks a datacenter's VMs without their placement and identities. Names of nodes must be unique in the topology,
// because all join one Kubernetes cluster.
func checkVMs(p *problems, m *marking, spec *Spec, s *site, nodes *scope) {
	vms, folders := newScope(p, "VM"), checkVMFolders(p, m, s)
	twins, cousins := spec.Allows(DuplicateName), spec.Allows(DuplicateHostname)
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
	if vm.Template == Yes {
		checkTemplate(p, vm, at)
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
