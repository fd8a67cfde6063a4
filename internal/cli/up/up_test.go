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
		{args: "single zones-us-eu", refused: `up does not understand the argument "zones-us-eu"`},
		{flag: "My Lab", refused: "name"},
		{env: "../x", refused: "name"},
		{args: "--speed 0.5", refused: "--speed: speed 0.5: want a number from 1"},
		{args: "--speed NaN", refused: "--speed: speed NaN: want a number"},
		{args: "--speed 1e9", refused: "--speed: speed 1e+09: want a number"},
		{args: "--api-port -1", refused: "--api-port -1: want a number from 0 to 65535"},
		{args: "--api-port 65536", refused: "--api-port 65536: want a number from 0 to 65535"},
		{args: "--detach --dry-run", refused: "--detach and --dry-run exclude each other"},
		{args: "--output xml", refused: "xml"},
		{args: "singel", refused: `scenario "singel": there is none of that name`},
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
			tc.want.Format = strings.Replace(tc.want.Format, "table", got.format, 1) // whatever the plain one is called
			if diff := cmp.Diff(tc.want, want{
				got.source, got.name, got.topology.Metadata.Name, got.format, got.speed, got.port, got.detach, got.detached, got.dryRun, got.retain, got.audit,
			}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
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
	if words := clitest.Words(t, cmd.ValidArgsFunction, "single"); len(words) > 0 {
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

func TestSource(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"tiny.yaml": tiny, "plain": tiny, "bad.yaml": strings.Replace(tiny, "hosts:", "host:", 1), "single": "a file, not the scenario",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("dir.yaml", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		source, name string
		code, try    string // of the error, or its beginning
		message      string // part of it
	}{
		{source: "tiny.yaml", name: "tiny"},
		{source: "./tiny.yaml", name: "tiny"},
		{source: filepath.Join(dir, "tiny.yaml"), name: "tiny"},
		{source: "plain", name: "tiny"},
		{source: "single", name: "single"},
		{source: "./single", code: "topology-invalid", message: "./single:1:"},
		{source: "bad.yaml", code: "topology-invalid", message: `bad.yaml:9:11: spec.vcenters[0].datacenters[0].host: unknown key (did you mean "hosts"?)`, try: "vsphere-sandbox up zones-us-eu --dry-run -o yaml"},
		{source: "singel", code: "usage", message: `scenario "singel": there is none of that name, and no such file`, try: "vsphere-sandbox up single"},
		{source: "volcano", code: "usage", message: `scenario "volcano"`, try: "one of: single, zones-per-cluster, zones-us-eu; or the path of a topology file"},
		{source: "missing.yaml", code: "topology-unreadable", message: "missing.yaml"},
		{source: "./single.yaml", code: "topology-unreadable", message: "no such file"},
		{source: "dir.yaml", code: "topology-unreadable", message: "dir.yaml"},
	} {
		t.Run(tc.source, func(t *testing.T) {
			got, err := load(tc.source)
			if tc.code == "" {
				if err != nil || got.Metadata.Name != tc.name {
					t.Errorf("%v, %v", got, err)
				}
				return
			}
			r := report.Of(err)
			if r.Code != tc.code || r.Exit != report.Usage || !strings.Contains(r.Message, tc.message) || !strings.HasPrefix(r.Try, tc.try) {
				t.Errorf("ended with %+v", r)
			}
		})
	}
}
