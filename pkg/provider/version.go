package provider

import (
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"k8s.io/component-base/version"
)

// printVersion writes one line.
func printVersion(w io.Writer) {
	info, _ := debug.ReadBuildInfo()
	fmt.Fprintf(w, "%s %s\n", commandName, versionOf(version.Get().GitVersion, info))
}

// versionOf is what was stamped, by hack/image for one; without a stamp, what the Go command has recorded of the module
// and of the repository that it was built from. info may be nil.
func versionOf(stamped string, info *debug.BuildInfo) string {
	if stamped != "" && !strings.Contains(stamped, "$Format") { // what git export-subst has not replaced
		return stamped
	}
	v := "v0.0.0-dev"
	if info == nil {
		return v
	}
	here := reflect.TypeFor[Provider]().PkgPath()
	for _, m := range slices.Concat(info.Deps, []*debug.Module{&info.Main}) {
		if strings.HasPrefix(here, m.Path+"/") && m.Version != "" && m.Version != "(devel)" {
			return m.Version // where the Go command has made it of the repository, it holds the revision
		}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if revision := settings["vcs.revision"]; revision != "" {
		v += " " + revision
	}
	if settings["vcs.modified"] == "true" {
		v += " modified"
	}
	return v
}
