package up

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

func TestOptions(t *testing.T) {
	type want struct {
		Source, Name, Topology, Format          string
		Speed                                   float64
		Port                                    int
		Detach, Detached, DryRun, Retain, Audit bool
	}
	for _, tc := range []struct {
		args, flag, env string // flag: --name; env: its variable
		want            want
		refused         string // the message of a usage error
	}{
		{want: want{Source: scenarios.Default, Name: "default", Topology: scenarios.Default, Format: "table", Speed: 10}},
		{
			args: "single --detach --speed 2.5 --api-port 6443 --retain --audit -o json", flag: "lab", env: "other",
			want: want{Source: "single", Name: "lab", Topology: "single", Format: "json", Speed: 2.5, Port: 6443, Detach: true, Retain: true, Audit: true},
		},
		{args: "single --dry-run -o yaml", env: "lab", want: want{Source: "single", Name: "lab", Topology: "single", Format: "yaml", Speed: 10, DryRun: true}},
		{args: "single --detached", want: want{Source: "single", Name: "default", Topology: "single", Format: "table", Speed: 10, Detached: true}},
		{args: "single zones-us-eu", refused: `up: unexpected argument "zones-us-eu"`},
		{flag: "My Lab", refused: "name"},
		{args: "supervisor --csi module:v3.7.0 --csi-webhook", refused: "upstream's guest flavor has another webhook"},
		{env: "../x", refused: "name"},
		{args: "--speed 0.5", refused: "--speed: speed 0.5: want a number from 1"},
		{args: "--speed NaN", refused: "--speed: speed NaN: want a number"},
		{args: "--speed 1e9", refused: "--speed: speed 1e+09: want a number"},
		{args: "--api-port -1", refused: "--api-port -1: want a number from 0 to 65535"},
		{args: "--api-port 65536", refused: "--api-port 65536: want a number from 0 to 65535"},
		{args: "--detach --dry-run", refused: "--detach and --dry-run exclude each other"},
		{args: "--output xml", refused: "xml"},
		{args: "single --loadbalancer metal", refused: "--loadbalancer metal: want simple, nsx or none"},
		{args: "single --loadbalancer nsx", refused: "--loadbalancer nsx: the topology has no NSX Manager"},
		{args: "single --loadbalancer nsx --ccm none", refused: "--loadbalancer nsx: the topology has no NSX Manager"},
		{args: "single --ccm none --csi builtin", refused: "--ccm none: there is no vsphere.conf for a CSI driver then"},
		{args: "single --ccm none --cluster kind", refused: "--ccm none is for --cluster embedded"},
		{args: "single --cluster kind --csi ./mine", refused: "--csi ./mine: with --cluster kind a CSI driver is an image or a release"},
		{args: "singel", refused: `topology "singel": no built-in topology`},
	} {
		t.Run(tc.args+tc.flag+tc.env, func(t *testing.T) {
			e := clitest.NewEnv(nil)
			e.NameFlag, e.Vars["VSPHERE_SANDBOX_NAME"] = tc.flag, tc.env
			var got *options
			r := e.Run(t.Context(), NewCmdUp(e.Deps, func(_ context.Context, o *options) error { got = o; return nil }), strings.Fields(tc.args)...)
			if tc.refused != "" {
				if r.Exit != report.Usage || !strings.Contains(r.Message, tc.refused) || got != nil {
					t.Errorf("ended with %+v, want %q", r, tc.refused)
				}
				return
			}
			if r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			tc.want.Format = strings.Replace(tc.want.Format, "table", got.format, 1) // the plain format of either command
			if diff := cmp.Diff(tc.want, want{
				got.source, got.name, got.topology.Metadata.Name, got.format, got.speed, got.port, got.detach, got.detached, got.dryRun, got.retain, got.audit,
			}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// On kind, a topology with an NSX Manager is taken, also with a manifest: the cloud controller manager is a pod there. Refused are routes,
// and a vCenter with the name of the NSX Manager's Service.
func TestBalancerOnKind(t *testing.T) {
	for _, tc := range []struct{ vcenter, routes, cluster, refused string }{
		{vcenter: "vc", routes: "false", cluster: "kind"},
		{vcenter: "vc", routes: "true", cluster: "embedded"},
		{vcenter: "nsx-manager", routes: "false", cluster: "embedded"},
		{vcenter: "vc", routes: "true", cluster: "kind", refused: "spec.nsx.routes needs --cluster embedded: kind's network plug-in"},
		{vcenter: "nsx-manager", routes: "false", cluster: "kind", refused: "a vCenter is named nsx-manager, as pods call the NSX Manager"},
	} {
		file := filepath.Join(t.TempDir(), "nsx.yaml")
		text := "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: nsx}\nspec:\n  nsx: {routes: " + tc.routes + "}\n" +
			"  vcenters:\n  - {name: " + tc.vcenter + ", datacenters: [{name: dc, hosts: [{name: esx}], vms: [{name: w, role: worker}]}]}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e := clitest.NewEnv(nil)
		ran := false
		cmd := NewCmdUp(e.Deps, func(context.Context, *options) error { ran = true; return nil })
		r := e.Run(t.Context(), cmd, file, "--loadbalancer", "nsx", "--cluster", tc.cluster)
		if ran == (tc.refused != "") || !strings.Contains(r.Message, tc.refused) {
			t.Errorf("%+v: ended with %+v", tc, r)
		}
	}
}

func TestHiddenFlagAndCompletion(t *testing.T) {
	cmd := NewCmdUp(clitest.NewEnv(nil).Deps, nil)
	if f := cmd.Flags().Lookup("detached"); f == nil || !f.Hidden {
		t.Errorf("--detached: %+v", f)
	}
	words, _ := cmd.ValidArgsFunction(cmd, nil, "")
	if diff := cmp.Diff(scenarios.Names(), words); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if words := clitest.Completions(t, cmd.ValidArgsFunction, "single"); len(words) > 0 {
		t.Errorf("a second argument: %v", words)
	}
}

const tiny = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: tiny}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          hosts: [{name: esx-1}]
          vms: [{name: worker-1, role: worker}]
`
