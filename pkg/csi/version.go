package csi

import (
	"runtime/debug"
	"strings"

	baseversion "k8s.io/component-base/version"
)

// version is what was stamped, by hack/image for one; without a stamp, what the Go command has recorded of the repository.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(baseversion.Get().GitVersion, info)
}

// versionOf takes a nil info, too.
func versionOf(stamped string, info *debug.BuildInfo) string {
	if stamped != "" && !strings.Contains(stamped, "$Format") { // what git export-subst has not replaced
		return stamped
	}
	v := "v0.0.0-dev"
	if info == nil {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		return m // where the Go command has made it of the repository, it holds the revision
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && s.Value != "" {
			v += "-" + s.Value
		}
	}
	return v
}
