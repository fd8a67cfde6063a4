package csi

import (
	"runtime/debug"
	"strings"

	baseversion "k8s.io/component-base/version"
)

// version returns the stamped version (hack/image stamps one), else what the Go command recorded about the repository.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(baseversion.Get().GitVersion, info)
}

func versionOf(stamped string, info *debug.BuildInfo) string {
	if stamped != "" && !strings.Contains(stamped, "$Format") { // git export-subst has not replaced it
		return stamped
	}
	v := "v0.0.0-dev"
	if info == nil {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		return m // includes the revision if the Go command made it from the repository
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && s.Value != "" {
			v += "-" + s.Value
		}
	}
	return v
}
