package build

import (
	"os"
	"runtime/debug"
	"strings"
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

// Every component is of a module that go.mod names: one that has moved to another path would be "unknown" for ever.
func TestComponentsAreRequired(t *testing.T) {
	gomod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required, _, _ := strings.Cut(string(gomod), "\nreplace")
	for _, p := range append(parts(), sidecarParts()...) {
		if !strings.Contains(required, "\t"+p.module+" v") {
			t.Errorf("%s: go.mod does not require %s", p.name, p.module)
		}
	}
	for _, c := range Components() {
		if c.Version == "" || c.Program == "" {
			t.Errorf("%+v is not whole", c)
		}
	}
}

// Kubernetes' own modules are replaced: what counts is the version that was compiled.
func TestSidecarComponents(t *testing.T) {
	got := map[string]string{}
	for _, c := range SidecarComponents(&debug.BuildInfo{Deps: []*debug.Module{
		{Path: "github.com/kubernetes-csi/external-attacher/v4", Version: "v4.12.0"},
		{Path: "github.com/kubernetes-csi/external-snapshotter/v8", Version: "v8.6.0"},
		{Path: "k8s.io/client-go", Version: "v0.0.0", Replace: &debug.Module{Path: "k8s.io/client-go", Version: "v0.36.4"}},
	}}) {
		got[c.Name] = c.Version
	}
	want := map[string]string{
		"csi-provisioner": unknown, "csi-attacher": "v4.12.0", "csi-resizer": unknown, "csi-snapshotter": "v8.6.0",
		"snapshot-controller": "v8.6.0", "csi-lib-utils": unknown, "client-go": "v0.36.4", "csi-spec": unknown, "grpc": unknown,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
