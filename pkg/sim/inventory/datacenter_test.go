package inventory

import (
	"testing"

	"github.com/vmware/govmomi/simulator"
)

func TestAbout(t *testing.T) {
	for _, tc := range []struct{ version, wantVersion, api, build, license string }{
		{"", "8.0.3", "8.0.3.0", "24022515", "8.0"},
		{"8.0.1", "8.0.1", "8.0.1.0", "21560480", "8.0"},
		{"9.0.0", "9.0.0", "9.0.0.0", "24755230", "9.0"},
		{"9.0.2", "9.0.2", "9.0.2.0", "24755230", "9.0"},
		{"7.0.9", "7.0.9", "7.0.9.0", "18700403", "7.0"},
		{"6.7.0", "6.7.0", "6.7", "8217866", "6.7"},
		{"6.7.1", "6.7.1", "6.7.1", "8217866", "6.7"},
		{"6.7.3", "6.7.3", "6.7.3", "14367737", "6.7"},
		{"odd", "odd", "odd.0", "24755230", "odd"},
	} {
		a := About(simulator.VPX().ServiceContent.About, tc.version, "x")
		if a.Version != tc.wantVersion || a.ApiVersion != tc.api || a.Build != tc.build || a.LicenseProductVersion != tc.license {
			t.Errorf("%s: %s, API %s, build %s, license %s", tc.version, a.Version, a.ApiVersion, a.Build, a.LicenseProductVersion)
		}
	}
}
