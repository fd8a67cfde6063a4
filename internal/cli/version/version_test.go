package version

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func TestVersion(t *testing.T) {
	for name, test := range map[string]struct {
		args    []string
		missing error
	}{
		"text":    {},
		"json":    {args: []string{"-o", "json"}},
		"yaml":    {args: []string{"-o", "yaml"}},
		"without": {args: []string{"-o", "json"}, missing: errors.New("csi-sidecars: it is not there")},
	} {
		t.Run(name, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			fixed := func(o *options) error {
				o.info = func() info {
					return info{
						Version: "v0.1.0", Commit: "0123456789abcdef", Kubernetes: "v1.36.4", Govmomi: "v0.56.0", Etcd: "v3.6.8",
						Go: "go1.26.8", Platform: "linux/amd64",
						Components: []build.Component{{Name: "kubernetes", Version: "v1.36.4", Module: "k8s.io/kubernetes", Program: "vsphere-sandbox-kubernetes"}},
					}
				}
				o.kubernetes = func() []kubernetesVersion { return []kubernetesVersion{{"v1.37.2", "builtin"}, {"v1.35.4", "missing"}} }
				o.second = func(context.Context) ([]build.Component, string, error) {
					if test.missing != nil {
						return nil, "", test.missing
					}
					return []build.Component{{Name: "csi-attacher", Version: "v4.12.0", Module: "example.test/attacher", Program: "csi-sidecars"}}, "carried", nil
				}
				return run(t.Context(), o)
			}
			if r := e.Run(t.Context(), NewCmdVersion(e.Deps, fixed), test.args...); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			clitest.Golden(t, "version."+name, e.Out.String())
		})
	}
}

// Every component is listed, also by a program without sidecars beside it: this test.
func TestComponents(t *testing.T) {
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdVersion(e.Deps, nil), "-o", "json"); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	var got info
	if err := json.Unmarshal(e.Out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(build.KubernetesComponents(), build.Components()...), got.Components); diff != "" || !strings.Contains(got.SidecarsMissing, "csi-sidecars: ") {
		t.Errorf("of the sidecars: %q; components (-want +got):\n%s", got.SidecarsMissing, diff)
	}
}

func TestThisBinary(t *testing.T) {
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdVersion(e.Deps, nil)); r.Exit != 0 || !strings.Contains(e.Out.String(), runtime.Version()) {
		t.Errorf("ended with %+v and %q", r, e.Out)
	}
	if r := e.Run(t.Context(), NewCmdVersion(e.Deps, nil), "-o", "toml"); r.Exit != report.Usage {
		t.Errorf("ended with %+v", r)
	}
}
