// Package release is the table of the Kubernetes releases that the Kubernetes program is built for: one of each minor version.
//
// Floor 0: plain data.
package release

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Release is one Kubernetes release, with the module file in kubernetes/ that builds it.
type Release struct {
	// Version is the release, such as v1.37.2. Minor is its minor version, 37.
	Version string
	Minor   int
	// Etcd is the release of etcd that it requires.
	Etcd string
}

// all are the releases, the newest first.
func all() []Release {
	return []Release{
		{"v1.37.2", 37, "v3.7.0"},
		{"v1.36.4", 36, "v3.6.8"},
		{"v1.35.4", 35, "v3.6.5"},
		{"v1.34.4", 34, "v3.6.4"},
	}
}

// All returns the releases, the newest first.
func All() []Release { return all() }

// Default returns the release that sandboxes have by default.
func Default() Release {
	r, _ := Find("v1.37")
	return r
}

// Kind returns the version of kind's default node image, which hack/kind-node builds.
func Kind() string { return "v1.36.4" }

// oldestOnKind is the oldest minor version of a kind node image that has all APIs that the sandbox uses there.
const oldestOnKind = 32

// OnKind reports whether a sandbox takes a kind node image of that Kubernetes version.
func OnKind(version string) bool {
	minor, ok := Minor(version)
	return ok && minor >= oldestOnKind
}

// OldestOnKind is the oldest minor version for [OnKind], as it is written: v1.32.
func OldestOnKind() string { return Release{Minor: oldestOnKind}.Name() }

// Name returns the minor version as it is written: v1.37.
func (r Release) Name() string { return "v1." + strconv.Itoa(r.Minor) }

// Staging returns the version of the release's staging modules, such as k8s.io/kubectl: v0.37.2.
func (r Release) Staging() string { return "v0" + strings.TrimPrefix(r.Version, "v1") }

// ModFile returns the name of the module file in kubernetes/.
func (r Release) ModFile() string {
	if r == Default() {
		return "go.mod"
	}
	return r.Name() + ".mod"
}

// Tags returns the build tags that choose the files for the APIs of the release: before_v1_N for each N that is newer, of the
// releases here.
func (r Release) Tags() []string {
	var tags []string
	for _, other := range all() {
		if other.Minor > r.Minor {
			tags = append(tags, fmt.Sprintf("before_v1_%d", other.Minor))
		}
	}
	slices.Sort(tags)
	return tags
}

// Flags returns the flags of go build in kubernetes/ for the release.
func (r Release) Flags() []string {
	flags := []string{"-modfile=" + r.ModFile()}
	if tags := r.Tags(); len(tags) > 0 {
		flags = append(flags, "-tags="+strings.Join(tags, ","))
	}
	return flags
}

// Linker returns the linker's flags that stamp the version, which Kubernetes reports as its own.
func (r Release) Linker() string {
	const x = "-X k8s.io/component-base/version."
	return fmt.Sprintf("-s -w %sgitVersion=%s %sgitMajor=1 %sgitMinor=%d", x, r.Version, x, x, r.Minor)
}

// Find returns the release that a user names: v1.37 or 1.37, or a whole version.
func Find(name string) (Release, bool) {
	name = "v" + strings.TrimPrefix(name, "v")
	for _, r := range all() {
		if name == r.Name() || name == r.Version {
			return r, true
		}
	}
	return Release{}, false
}

// Minor returns the minor version of a version such as v1.37.2: 37.
func Minor(version string) (int, bool) {
	var minor int
	_, err := fmt.Sscanf(version, "v1.%d", &minor)
	return minor, err == nil
}

// Looks reports whether a name is a version of Kubernetes, known or not.
func Looks(name string) bool { return regexp.MustCompile(`^v?\d+(\.\d+){1,2}$`).MatchString(name) }

// Names returns the minor versions, the newest first.
func Names() []string {
	var names []string
	for _, r := range all() {
		names = append(names, r.Name())
	}
	return names
}
