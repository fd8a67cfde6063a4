package node_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

func TestConfigRoundTrip(t *testing.T) {
	for _, want := range []node.Config{
		{},
		{
			Name: "worker-1", RootDir: "/n/worker-1/kubelet", Kubeconfig: "/n/worker-1/kubeconfig",
			SystemUUID: "42000000-0000-4000-8000-000000000001", CPUs: 4, MemoryBytes: 8 << 30,
			OSImage: "Ubuntu", Kernel: "6.8.0", Speed: 2.5, ControlPlane: true,
			CSI: &node.CSIConfig{ByIDDir: "/n/worker-1/by-id", Kubeconfig: "/n/worker-1/csi", Boot: "1", MaxVolumes: 5, Driver: "d"},
		},
	} {
		path := filepath.Join(t.TempDir(), "config.json")
		if err := want.Write(path); err != nil {
			t.Fatal(err)
		}
		got, err := node.ReadConfig(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v, want it for its owner only", info.Mode(), err)
		}
	}
}

func TestConfigThatCannotBeReadOrWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if _, err := node.ReadConfig(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := os.WriteFile(path, []byte(`{"name": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := node.ReadConfig(path); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("wrong type: %v", err)
	}
	if err := (node.Config{}).Write(filepath.Join(path, "below")); err == nil {
		t.Error("written below a file")
	}
}
