package provider

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

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

// checkNodeLabels validates labels for nodes. Upstream checks only the keys: a value that the API server refuses fails at
// every node forever (cmd/vsphere-cloud-controller-manager/main.go).
func checkNodeLabels(labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return fmt.Errorf("node label %q: key is not a qualified name: %s", key, strings.Join(problems, "; "))
		}
		if problems := validation.IsValidLabelValue(labels[key]); len(problems) > 0 {
			return fmt.Errorf("node label %q: value %q: %s", key, labels[key], strings.Join(problems, "; "))
		}
	}
	return nil
}

// warnNodeLabels logs labels that no node will get: the node controller of k8s.io/cloud-provider drops those in
// Kubernetes' own domains.
func warnNodeLabels(log *slog.Logger, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		prefix, _, _ := strings.Cut(key, "/")
		for _, domain := range []string{"kubernetes.io", "k8s.io"} {
			if prefix != key && (prefix == domain || strings.HasSuffix(prefix, "."+domain)) {
				log.Warn("node label is dropped", "label", key, "why", "the domain is reserved")
			}
		}
	}
}

// ErrTagName reports that the name of a region or zone tag is not a valid label value.
var ErrTagName = errors.New("cannot be a label")

// zone returns the region and zone of vm. It refuses tag names that are not valid label values: the API server would
// reject the node as a whole, forever, without naming the tag.
func (i instances) zone(vm *inventory.VM) (inventory.Zone, error) {
	z, err := i.inv.Zone(vm)
	if err != nil || i.choices.anyTagName {
		return z, err
	}
	for _, t := range [...]struct{ category, tag string }{{i.cfg.Labels.Region, z.Region}, {i.cfg.Labels.Zone, z.Zone}} {
		if problems := validation.IsValidLabelValue(t.tag); len(problems) > 0 {
			return z, fmt.Errorf("vm %s: tag %q of category %q %w: %s", vm, t.tag, t.category, ErrTagName, strings.Join(problems, "; "))
		}
	}
	return z, nil
}
