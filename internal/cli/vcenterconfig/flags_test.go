package vcenterconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// parse reads a command line.
func parse(t *testing.T, args ...string) (*Flags, *cobra.Command) {
	t.Helper()
	f, cmd := new(Flags), &cobra.Command{Use: "x"}
	f.Bind(cmd)
	f.BindNodes(cmd)
	f.BindWrites(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return f, cmd
}

func nothing(string) string { return "" }

func conf(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "vsphere.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const well = `
vcenter: {west: {server: vc.example, user: u, password: p}}
labels: {region: r, zone: z}
`

func TestComplete(t *testing.T) {
	file := conf(t, well)
	args := []string{
		"--vcenter-config=" + file, "--folder=a,b", "--folder=c", "--tag=env:prod", "--vm=w-*", "--pool=p", "--datacenter=dc", "--nodes=w-*",
		"--control-plane=cp-*", "--allow-writes", "--keep-writes", "--write-folder=/dc/vm/a", "--write-tag=env:test",
	}
	f, cmd := parse(t, args...)
	if err := f.CheckUnset(cmd); err != nil || !f.IsSet() {
		t.Error(err)
	}
	got, err := f.Complete(nothing)
	if err != nil {
		t.Fatal(err)
	}
	want := &real.Options{
		Source: file,
		Selection: inventory.Selection{
			Datacenters: []string{"dc"}, Folders: []string{"a,b", "c"}, Tags: []string{"env:prod"}, Names: []string{"w-*"}, Pools: []string{"p"},
		},
		Nodes: []string{"w-*"}, ControlPlane: []string{"cp-*"}, Keep: true,
		Scope: scope.Scope{AllowWrites: true, Folders: []string{"/dc/vm/a"}, Tags: []string{"env:test"}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(real.Options{}, "Config")); diff != "" {
		t.Error(diff)
	}
	if c := Categories(got.Config); c.Region != "r" || c.Zone != "z" || got.Config.VCenters[0].Server != "vc.example" {
		t.Errorf("%+v", got.Config)
	}
	// The arguments for another process give the same flags.
	again, _ := parse(t, f.ToArgs()...)
	if diff := cmp.Diff(f, again, cmp.AllowUnexported(Flags{})); diff != "" {
		t.Error(diff)
	}
}

func TestCompleteEnvironment(t *testing.T) {
	vars := map[string]string{"GOVC_URL": "vc.example", "GOVC_USERNAME": "u", "GOVC_PASSWORD": "p"}
	for _, args := range [][]string{nil, {"--vcenter-config", Environment}} {
		f, _ := parse(t, args...)
		got, err := f.Complete(func(name string) string { return vars[name] })
		if err != nil || got.Source != "" || got.Config.VCenters[0].Server != "vc.example" || got.Config.Region != vcenter.DefaultRegion {
			t.Errorf("%v: %+v, %v", args, got, err)
		}
	}
}

func TestCompleteRefuses(t *testing.T) {
	file := conf(t, well)
	for _, tc := range []struct {
		args []string
		code string
		says string
	}{
		{[]string{}, "vcenter-config-invalid", "GOVC_URL: is not set"},
		{[]string{"--vcenter-config", "/nowhere"}, "vcenter-config-unreadable", "/nowhere"},
		{[]string{"--vcenter-config", conf(t, "vcenters: {}")}, "vcenter-config-invalid", "vcenters"},
		{[]string{"--vcenter-config", conf(t, "vcenter: {west: {server: vc.example}}")}, "vcenter-config-invalid", "credentials"},
		{[]string{"--vcenter-config", file, "--tag", "prod"}, "usage", `tag "prod"`},
		{[]string{"--vcenter-config", file, "--allow-writes"}, "usage", "--allow-writes allows nothing"},
		{[]string{"--vcenter-config", file, "--write-tag", "a:b"}, "usage", "without --allow-writes"},
		{[]string{"--vcenter-config", file, "--keep-writes"}, "usage", "--keep-writes"},
		{[]string{"--vcenter-config", file, "--allow-writes", "--write-folder", "k8s"}, "usage", "from the root"},
		{[]string{"--vcenter-config", file, "--allow-writes", "--write-tag", "b"}, "usage", `tag "b"`},
	} {
		f, _ := parse(t, tc.args...)
		_, err := f.Complete(nothing)
		if r := report.Of(err); r.Code != tc.code || r.Exit != report.Usage || !strings.Contains(r.Message, tc.says) {
			t.Errorf("%v: %+v, want %s, %q", tc.args, r, tc.code, tc.says)
		}
	}
	for _, flag := range []string{"--folder=a", "--keep-writes", "--nodes=x"} {
		f, cmd := parse(t, flag)
		if r := report.Of(f.CheckUnset(cmd)); r.Exit != report.Usage || !strings.Contains(r.Try, "--vcenter-config") {
			t.Errorf("%s: %+v", flag, r)
		}
	}
}

// What chose VMs can be given once more.
func TestChoice(t *testing.T) {
	args := []string{"--folder", "a", "--folder", "b c", "--tag", "d:e", "--vm", "f-*", "--pool", "g", "--datacenter", "h"}
	var f Flags
	cmd := &cobra.Command{Use: "x"}
	f.Bind(cmd)
	if err := cmd.ParseFlags(append([]string{"--vcenter-config", "i"}, args...)); err != nil {
		t.Fatal(err)
	}
	if got := f.Choice(); !slices.Equal(got, args) || f.Config() != "i" {
		t.Errorf("%q, %q", f.Config(), got)
	}
}
