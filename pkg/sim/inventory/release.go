package inventory

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// Version and BuildNumber are what a vCenter says it is when its topology says nothing.
const (
	Version     = "8.0.3"
	BuildNumber = "24022515"
)

// release is what vCenters and hosts of one vSphere release say of themselves.
type release struct {
	version  string
	build    string // of vCenter
	esxBuild string // of ESXi
	hardware int    // the newest virtual hardware
}

// releases are the vSphere releases, newest first, each with its general availability builds. An update that is not
// listed has the numbers of the one below it.
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

// newRelease finds the release of a version, "" meaning [Version]. A version of no release that is known gets the numbers
// of the newest.
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

// minor is the first two numbers of a version.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// update is the third number of a version; 0 where it has none.
func update(version string) int {
	_, rest, _ := strings.Cut(strings.TrimPrefix(version, minor(version)), ".")
	n, err := strconv.Atoi(rest)
	if err != nil {
		return 0
	}
	return n
}

// api is the version of the vSphere API: four numbers from vSphere 7 on.
func (r release) api() string {
	if strings.HasPrefix(r.version, "6.") {
		return strings.TrimSuffix(r.version, ".0")
	}
	return r.version + ".0"
}

// About is what a vCenter of a release ("8.0.3"; empty means [Version]) says it is, on top of vcsim's own. It belongs
// into the service content of a vCenter that is yet to be made; name is shown in the full name, along with the word
// "simulated".
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

// product is what a host of the release says it is, on top of vcsim's own.
func (r release) product(vcsim types.AboutInfo) types.AboutInfo {
	p := vcsim
	p.Version = r.version
	p.ApiVersion = r.api()
	p.Build = r.esxBuild
	p.LicenseProductVersion = minor(r.version)
	p.FullName = fmt.Sprintf("%s %s build-%s", p.Name, r.version, r.esxBuild)
	return p
}

// hardwareVersion is the newest virtual hardware of the release.
func (r release) hardwareVersion() string { return hardwareName(r.hardware) }

func hardwareName(n int) string { return "vmx-" + strconv.Itoa(n) }
