package up

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// elsewhere returns a vsphere.conf of a vCenter that does not respond.
func elsewhere(t *testing.T) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "vsphere.conf")
	if err := os.WriteFile(conf, []byte("vcenter: {vc: {server: 127.0.0.1, port: 1, user: u, password: p}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return conf
}

// Containers can be the nodes of real VMs, and have no disks of theirs.
func TestRealOnKind(t *testing.T) {
	e := clitest.NewEnv(nil)
	var got *options
	ran := func(_ context.Context, o *options) error { got = o; return nil }
	if r := e.Run(t.Context(), NewCmdUp(e.Deps, ran), "--vcenter-config", elsewhere(t), "--cluster", "kind"); got == nil || got.csi.Driver != "off" {
		t.Errorf("ended with %+v, options %+v", r, got)
	}
	got = nil
	r := e.Run(t.Context(), NewCmdUp(e.Deps, ran), "--vcenter-config", elsewhere(t), "--cluster", "kind", "--csi", "builtin")
	if r.Exit != report.Usage || !strings.Contains(r.Message, "the disks of a real VM") || got != nil {
		t.Errorf("ended with %+v", r)
	}
}

// One that runs is found before its journal is, which it has open.
func TestRealAlreadyRunning(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.State.Dir, e.NameFlag = t.TempDir(), "lab"
	dir, err := instance.Create(e.State.Dir, "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Remove() })
	r := e.Run(t.Context(), NewCmdUp(e.Deps, nil), "--vcenter-config", elsewhere(t), "--allow-writes", "--write-folder", "/dc/vm")
	if r.Code != "already-running" || !strings.Contains(r.Try, "down --name lab") {
		t.Errorf("ended with %+v", r)
	}
}
