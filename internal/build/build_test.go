package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersion(t *testing.T) {
	if diff := cmp.Diff([]string{"v0.0.0-dev", ""}, []string{Version(), Commit()}); diff != "" {
		t.Errorf("of a build that was not stamped (-want +got):\n%s", diff)
	}
}

// A program that does not link a module says so, instead of naming a release.
func TestModules(t *testing.T) {
	for name, got := range map[string]string{"govmomi": Govmomi(), "none": module("example.org/none")} {
		if got != "unknown" {
			t.Errorf("%s is %q", name, got)
		}
	}
}
