package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// A running cluster takes only its own snapshots: the tokens of its components belong to its ServiceAccounts.
func TestSnapshotOfAnotherCluster(t *testing.T) {
	s := newSandbox(t, "single")
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := &snapshot.Manifest{Snapshot: api.Snapshot{Name: "s", Path: t.TempDir()}, CSI: s.opts.CSI.Enabled}
	put(s.opts.Dir.Path("pki", "ca.crt"), "ours")
	put(filepath.Join(m.Path, snapshot.PKI, "ca.crt"), "ours")
	if err := s.snapshots.fits(m, &topology.Topology{}); err != nil {
		t.Errorf("its own: %v", err)
	}
	put(filepath.Join(m.Path, snapshot.PKI, "ca.crt"), "theirs")
	if err := s.snapshots.fits(m, &topology.Topology{}); err == nil || !strings.Contains(err.Error(), "is of another cluster than this sandbox") {
		t.Errorf("another's: %v", err)
	}
}

// A restore replaces the wait for the API server by that for its objects; a boot restores none: the control plane begins with them.
func TestStepsOfRestore(t *testing.T) {
	s := idle(t)
	s.opts.From = &snapshot.Manifest{Snapshot: api.Snapshot{Path: "/s"}}
	names := func(steps []step) string {
		var all []string
		for _, st := range steps {
			all = append(all, st.Name)
		}
		return strings.Join(all, ", ")
	}
	if got, want := names(s.snapshots.steps()), "vCenters, inventory watch, faults, objects, node watch, cloud config, cloud controller manager, nodes, initialization"; got != want {
		t.Errorf("restore: %s\nwant %s", got, want)
	}
	if got := names(s.steps()); strings.Contains(got, "objects") {
		t.Errorf("boot: %s", got)
	}
}
