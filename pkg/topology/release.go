package topology

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// releases lists the vSphere releases for vCenters, newest first, each from its first update on, with the newest hardware version
// of its hosts (Broadcom's article 315655).
func releases() []release {
	return []release{
		{9, 0, 0, 22},
		{8, 0, 2, 21},
		{8, 0, 0, 20},
		{7, 0, 2, 19},
		{7, 0, 1, 18},
		{7, 0, 0, 17},
		{6, 7, 2, 15},
		{6, 7, 0, 14},
		{6, 5, 0, 13},
	}
}

type release struct{ major, minor, update, hardware int }

// newestHardware returns the newest hardware version of a vCenter's release, or 0 for an unknown one.
func newestHardware(version string) int {
	var major, minor, update int
	if n, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &update); n != 3 || err != nil ||
		version != fmt.Sprintf("%d.%d.%d", major, minor, update) || update < 0 || update > 99 {
		return 0
	}
	for _, r := range releases() {
		if r.major == major && r.minor == minor && update >= r.update {
			return r.hardware
		}
	}
	return 0
}

// releaseVersion is the rule for the version of a vCenter.
func releaseVersion(version string) (complaint, hint string) {
	if newestHardware(version) > 0 {
		return "", ""
	}
	if newestHardware(version+".0") > 0 {
		hint = version + ".0"
	}
	return "must be a vSphere release from 6.5.0 to 9.0, such as 8.0.3, not " + strict.Shown(version), hint
}

func hardwareName(version int) string { return "vmx-" + strconv.Itoa(version) }

// hardwareNumber parses "vmx-21", or returns 0. It excludes those of Workstation (6, 12, 16), and 5, which does not exist.
func hardwareNumber(name string) int {
	digits, ok := strings.CutPrefix(name, "vmx-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || hardwareName(n) != name {
		return 0
	}
	switch {
	case n == 4, n >= 7 && n <= 11, n >= 13 && n <= 15, n >= 17 && n <= 22:
		return n
	}
	return 0
}

// checkHardware checks a VM's hardware version against the vCenter's release.
func checkHardware(p *problems, vcenter *VCenter, name string, at *path) {
	newest := newestHardware(vcenter.Version)
	if name == "" || newest == 0 {
		return
	}
	number := hardwareNumber(name)
	switch {
	case number == 0:
		p.field(at, "", "must be a hardware version of ESXi such as %s, not %s", hardwareName(newest), strict.Shown(name))
	case number > newest:
		p.field(at, hardwareName(newest), "is newer than vSphere %s, the vCenter's version, knows", vcenter.Version)
	}
}
