package limits

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/preflight"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

func parse(t *testing.T, args string) *Flags {
	t.Helper()
	f := &Flags{}
	cmd := &cobra.Command{Use: "up"}
	f.Bind(cmd)
	f.BindPort(cmd)
	if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFlags(t *testing.T) {
	for _, tc := range []struct {
		args, refused, again string
		port                 int
	}{
		{port: loopback.DefaultPort},
		{args: "--vcenter-port 8989", port: loopback.DefaultPort},
		{args: "--vcenter-port 0", port: loopback.AnyPort, again: "--vcenter-port=0"},
		{args: "--vcenter-port 443", port: 443, again: "--vcenter-port=443"},
		{args: "--vcenter-port 70000", refused: "--vcenter-port 70000: want a number from 0 to 65535"},
		{args: "--vcenter-port -1", refused: "--vcenter-port -1: want a number"},
		{args: "--ignore-preflight-errors memory,disk", port: loopback.DefaultPort, again: "--ignore-preflight-errors=memory,disk"},
		{args: "--ignore-preflight-errors all", port: loopback.DefaultPort, again: "--ignore-preflight-errors=all"},
		{args: "--ignore-preflight-errors memroy", refused: `--ignore-preflight-errors "memroy": want loopback, ports`},
	} {
		f := parse(t, tc.args)
		err := f.Check()
		if tc.refused != "" {
			if err == nil || report.Of(err).Exit != report.Usage || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s: %v, want %q", tc.args, err, tc.refused)
			}
			continue
		}
		if err != nil || f.Port() != tc.port || strings.Join(f.ToArgs(), " ") != tc.again {
			t.Errorf("%s: port %d, again %q, %v", tc.args, f.Port(), f.ToArgs(), err)
		}
	}
	if port := new(Flags).Port(); port != loopback.DefaultPort {
		t.Errorf("of flags that were not bound: %d", port)
	}
}

func TestSizeOf(t *testing.T) {
	top, err := topology.Load("t", []byte(`apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: t}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: h}]}]
          vms:
            - {name: "w-{n}", replicas: 3, role: worker}
            - {name: "l-{n}", replicas: 2, role: worker, nodes: light}
            - {name: other}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		opts sandbox.Options
		want preflight.Size
	}{
		{"a cluster", sandbox.Options{CSI: sandbox.CSI{Enabled: true}}, preflight.Size{Cluster: true, Nodes: 3, Light: 2, VMs: 6, CSI: true, CCMs: 1}},
		{
			"a cluster of a chosen release",
			sandbox.Options{Cluster: sandbox.Cluster{Kubernetes: sandbox.Kubernetes{Path: "/k"}}, CSI: sandbox.CSI{Enabled: true}},
			preflight.Size{Cluster: true, Nodes: 3, Light: 2, VMs: 6, CSI: true, CCMs: 1},
		},
		{"light", sandbox.Options{Light: true, CCM: sandbox.CCM{Replicas: 2}}, preflight.Size{Cluster: true, Light: 5, VMs: 6, CCMs: 2}},
		{"no CCM", sandbox.Options{CCM: sandbox.CCM{None: true}, Port: 6443}, preflight.Size{Cluster: true, Nodes: 3, Light: 2, VMs: 6, APIPort: 6443}},
		{"vCenters alone", sandbox.Options{VCentersOnly: true, Place: loopback.Place{Addresses: []string{"127.0.0.1:1"}}}, preflight.Size{VMs: 6, Place: loopback.Place{Addresses: []string{"127.0.0.1:1"}}}},
		{"kind", sandbox.Options{Cluster: sandbox.Cluster{Kind: &kind.Options{}}, Place: loopback.Place{Port: 7}}, preflight.Size{VMs: 6, Place: loopback.Place{Port: 7}}},
		{"real", sandbox.Options{Real: &real.Options{}}, preflight.Size{Cluster: true, Nodes: 3, Light: 2, CCMs: 1}},
	} {
		tc.opts.Topology, tc.want.VCenters, tc.want.Dir = top, 1, "/state"
		if d := cmp.Diff(tc.want, SizeOf(tc.opts, "/state")); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// What is ignored is said, and does not keep a sandbox from booting.
func TestRun(t *testing.T) {
	m := preflight.Here()
	m.Limit = func(int) (uint64, error) { return 64, nil }
	m.Dial = func(context.Context) error { return nil }
	m.Disk = func(string) (uint64, uint64, error) { return 1 << 60, 1 << 60, nil }
	m.Listen = func(context.Context, loopback.Place, int) error { return &loopback.PortError{Port: 8989} }
	size := preflight.Size{VCenters: 1, VMs: 1}
	m.UID = 0
	for _, tc := range []struct {
		ignored, code string
		notes         []string
	}{
		{code: "machine-limits"},
		{ignored: "address-space", code: "port-in-use", notes: []string{"address-space"}},
		{ignored: "all", notes: []string{"ports", "address-space"}},
	} {
		f := parse(t, "")
		if tc.ignored != "" {
			f = parse(t, "--ignore-preflight-errors "+tc.ignored)
		}
		f.Machine = &m
		var notes []string
		err := f.Run(t.Context(), size, func(text string) {
			name, _, _ := strings.Cut(text, ":")
			notes = append(notes, name)
		})
		code := ""
		if err != nil {
			code = report.Of(err).Code
		}
		if code != tc.code || cmp.Diff(tc.notes, notes) != "" {
			t.Errorf("ignored %q: %v, notes %q", tc.ignored, err, notes)
		}
	}
}
