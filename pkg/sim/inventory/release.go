package inventory

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Version and BuildNumber are the default release of a vCenter.
const (
	Version     = "8.0.3"
	BuildNumber = "24022515"
)

// release describes vCenters and hosts of one vSphere release.
type release struct {
	version  string
	build    string // of vCenter
	esxBuild string // of ESXi
	hardware int    // the newest virtual hardware
}

// releases lists the vSphere releases, newest first, with their general availability builds. An update that is not listed has the
// numbers of the previous one.
func releases() []release {
	return []release{
		{"9.0.0", "24755230", "24755229", 22},
		{"8.0.3", BuildNumber, "24022510", 21},
		{"8.0.2", "22385739", "22380479", 21},
		{"8.0.1", "21560480", "21495797", 20},
		{"8.0.0", "20519528", "20513097", 20},
		{"7.0.3", "18700403", "18644231", 19},
		{"7.0.2", "17694817", "17630552", 19},
		{"7.0.1", "16860138", "16850804", 18},
		{"7.0.0", "15952498", "15843807", 17},
		{"6.7.3", "14367737", "14320388", 15},
		{"6.7.2", "13010631", "13006603", 15},
		{"6.7.0", "8217866", "8169922", 14},
		{"6.5.0", "4602587", "4564106", 13},
	}
}

// newRelease returns the release of a version; "" means [Version]. An unknown version gets the numbers of the newest release.
func newRelease(version string) release {
	if version == "" {
		version = Version
	}
	all := releases()
	found := all[0]
	for _, r := range all {
		if minor(r.version) == minor(version) && update(r.version) <= update(version) {
			found = r
			break
		}
	}
	found.version = version
	return found
}

// minor returns the first two numbers of a version.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// update returns the third number of a version, or 0.
func update(version string) int {
	_, rest, _ := strings.Cut(strings.TrimPrefix(version, minor(version)), ".")
	n, err := strconv.Atoi(rest)
	if err != nil {
		return 0
	}
	return n
}

// api returns the version of the vSphere API: four numbers from vSphere 7 on.
func (r release) api() string {
	if strings.HasPrefix(r.version, "6.") {
		return strings.TrimSuffix(r.version, ".0")
	}
	return r.version + ".0"
}

// About describes a vCenter of a release ("8.0.3"; empty means [Version]), based on vcsim's. It is for the service content of a
// new vCenter; name is part of the full name, with the word "simulated".
func About(vcsim types.AboutInfo, version, name string) types.AboutInfo {
	r := newRelease(version)
	about := vcsim
	about.Version = r.version
	about.ApiVersion = r.api()
	about.Build = r.build
	about.LicenseProductVersion = minor(r.version)
	about.FullName = fmt.Sprintf("%s %s build-%s (simulated, %s)", about.Name, r.version, r.build, name)
	return about
}

// product describes a host of the release, based on vcsim's.
func (r release) product(vcsim types.AboutInfo) types.AboutInfo {
	p := vcsim
	p.Version = r.version
	p.ApiVersion = r.api()
	p.Build = r.esxBuild
	p.LicenseProductVersion = minor(r.version)
	p.FullName = fmt.Sprintf("%s %s build-%s", p.Name, r.version, r.esxBuild)
	return p
}

// hardwareVersion returns the newest virtual hardware of the release.
func (r release) hardwareVersion() string { return hardwareName(r.hardware) }

func hardwareName(n int) string { return "vmx-" + strconv.Itoa(n) }
