package provider

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// instanceType describes a VM's size and guest as upstream does, with memory in whole GB rounded down:
// "vsphere-vm.cpu-4.mem-8gb.os-ubuntu".
func instanceType(vm *inventory.VM) string {
	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dgb.os-%s", vm.NumCPU, vm.MemoryMB/1024, guestOS(vm.GuestID))
}

// guestOS returns upstream's short name of a guest identifier (VirtualMachineGuestOsIdentifier), as in
// pkg/cloudprovider/vsphere/types.go, GuestOSLookup, which has rhel8, rhel9 and rhel10 since v1.36. An identifier that
// upstream does not know is "unknown" here too, because the name becomes part of a label that selects nodes.
func guestOS(id string) string {
	family := guestFamily(id)
	switch family {
	case "":
		return unknownGuest
	case "centos", "sles":
		// Upstream keeps the word width of these two.
		if strings.HasSuffix(id, "64Guest") {
			return family + "64"
		}
		return family
	case "genericLinux", "otherLinux", "other24xLinux", "other26xLinux", "other3xLinux":
		return "linux"
	case "darwin", "darwin10", "darwin11", "darwin12", "darwin13", "darwin14", "darwin15", "darwin16":
		return "darwin"
	case "redhat":
		return "rhel"
	case "vmwarePhoton":
		return "photon"
	case "windows7", "windows7Server", "windows8", "windows8Server":
		return strings.ToLower(strings.Replace(family, "windows", "win", 1))
	case "windows9", "windows9Server":
		return strings.ToLower(strings.Replace(family, "windows9", "win10", 1))
	case "turboLinux", "unixWare7", "win2000AdvServ", "win2000Pro", "win2000Serv", "winLonghorn", "winMe", "winNT",
		"winNetBusiness", "winNetDatacenter", "winNetEnterprise", "winNetStandard", "winNetWeb", "winVista", "winXPHome",
		"winXPPro", "windowsHyperV":
		return strings.ToLower(family)
	case "asianux3", "asianux4", "asianux5", "asianux7", "centos6", "centos7", "coreos", "debian4", "debian5", "debian6",
		"debian7", "debian8", "debian9", "debian10", "dos", "eComStation", "eComStation2", "fedora", "freebsd", "mandrake",
		"mandriva", "netware4", "netware5", "netware6", "nld9", "oes", "openServer5", "openServer6", "opensuse",
		"oracleLinux", "oracleLinux6", "oracleLinux7", "os2", "other", "rhel2", "rhel3", "rhel4", "rhel5", "rhel6", "rhel7",
		"rhel8", "rhel9", "rhel10", "sjds", "sles10", "sles11", "sles12", "solaris6", "solaris7", "solaris8", "solaris9",
		"solaris10", "solaris11", "suse", "ubuntu", "vmkernel", "vmkernel5", "vmkernel6", "vmkernel65", "win31", "win95", "win98":
		return family
	}
	return unknownGuest
}

const unknownGuest = "unknown"

// guestFamily returns an identifier without the common suffix and the word width: "rhel8" for "rhel8_64Guest", "ubuntu"
// for "ubuntu64Guest", "other" for "otherGuest64". It returns "" if id is not an identifier.
func guestFamily(id string) string {
	family, ok := strings.CutSuffix(strings.TrimSuffix(id, "64"), "Guest")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(family, "64"), "_")
}
