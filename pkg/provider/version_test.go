package provider

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	const (
		module = "github.com/vsphere-sandbox/vsphere-sandbox"
		none   = "v0.0.0-master+$Format:%H$"
	)
	main := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: module, Version: version}, Settings: settings}
	}
	revision, modified := debug.BuildSetting{Key: "vcs.revision", Value: "4368d65"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, tc := range map[string]struct {
		stamped string
		info    *debug.BuildInfo
		want    string
	}{
		"stamped":                      {"v1.36.4+v0.1.0", main("v9.9.9"), "v1.36.4+v0.1.0"},
		"not stamped, nothing known":   {none, nil, "v0.0.0-dev"},
		"module":                       {none, main("v0.1.0", revision), "v0.1.0"},
		"repository":                   {none, main("(devel)", revision), "v0.0.0-dev 4368d65"},
		"repository, changed":          {none, main("", revision, modified), "v0.0.0-dev 4368d65 modified"},
		"linked into somebody else's":  {none, &debug.BuildInfo{Main: debug.Module{Path: "example.org/x", Version: "v3.0.0"}, Deps: []*debug.Module{{Path: module, Version: "v0.2.0"}}}, "v0.2.0"},
		"no stamp, not even a default": {"", main("v0.1.0"), "v0.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := versionOf(tc.stamped, tc.info); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
