package provider

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// instanceType describes a VM's size and guest the way upstream does, memory in whole GB rounded down:
// "vsphere-vm.cpu-4.mem-8gb.os-ubuntu".
func instanceType(vm *inventory.VM) string {
	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dgb.os-%s", vm.NumCPU, vm.MemoryMB/1024, guestOS(vm.GuestID))
}

// guestOS returns upstream's short name of a guest identifier; "unknown" for those that it does not know either.
func guestOS(id string) string {
	switch id {
	case "ubuntu64Guest", "ubuntuGuest":
		return "ubuntu"
	case "vmwarePhoton64Guest":
		return "photon"
	case "coreos64Guest":
		return "coreos"
	case "fedora64Guest", "fedoraGuest":
		return "fedora"
	case "opensuse64Guest", "opensuseGuest":
		return "opensuse"
	case "suse64Guest", "suseGuest":
		return "suse"
	case "sles64Guest":
		return "sles64"
	case "slesGuest":
		return "sles"
	case "redhatGuest":
		return "rhel"
	case "centos64Guest":
		return "centos64"
	case "centosGuest":
		return "centos"
	case "oracleLinux64Guest", "oracleLinuxGuest":
		return "oracleLinux"
	case "freebsd64Guest", "freebsdGuest":
		return "freebsd"
	case "genericLinuxGuest", "otherLinux64Guest", "otherLinuxGuest", "other24xLinux64Guest", "other24xLinuxGuest",
		"other26xLinux64Guest", "other26xLinuxGuest", "other3xLinux64Guest", "other3xLinuxGuest":
		return "linux"
	case "otherGuest", "otherGuest64":
		return "other"
	case "windows7_64Guest", "windows7Guest":
		return "win7"
	case "windows7Server64Guest":
		return "win7server"
	case "windows8_64Guest", "windows8Guest":
		return "win8"
	case "windows8Server64Guest":
		return "win8server"
	case "windows9_64Guest", "windows9Guest":
		return "win10"
	case "windows9Server64Guest":
		return "win10server"
	}
	// Families that carry their version in the identifier: "rhel8_64Guest" is "rhel8".
	name := strings.TrimSuffix(strings.TrimSuffix(id, "Guest"), "_64")
	switch name {
	case "rhel2", "rhel3", "rhel4", "rhel5", "rhel6", "rhel7", "rhel8", "rhel9", "rhel10",
		"centos6", "centos7", "oracleLinux6", "oracleLinux7", "sles10", "sles11", "sles12",
		"debian4", "debian5", "debian6", "debian7", "debian8", "debian9", "debian10",
		"asianux3", "asianux4", "asianux5", "asianux7", "solaris10", "solaris11":
		return name
	}
	return "unknown"
}
