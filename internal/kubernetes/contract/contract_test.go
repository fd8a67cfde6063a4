package contract

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRoundTrip(t *testing.T) {
	for name, tc := range map[string]struct {
		write func(path string) error
		read  func(path string) (any, error)
		want  any
	}{
		"control plane": check(ControlPlane{
			EtcdDir: "/e", PKI: "/p", Host: "127.0.0.1", Port: 6443, ListenerFD: 3, Speed: 2.5, ServiceCIDR: "10.96.0.0/16", PodCIDR: "10.128.0.0/9",
			Tuning: "/t", NotifyFD: 6, AuditLog: "/a", ControllerManagerFD: 4, SchedulerFD: 5, EtcdEndpoint: "/ep", Egress: "/eg", Metrics: "/m", Knobs: Knobs{Scheduler: []string{"v=4"}},
		}, ControlPlane.Write, ReadControlPlane),
		"tuning": check(Tuning{EtcdDelay: time.Second}, Tuning.Write, ReadTuning),
		"node": check(Node{
			Name: "worker-1", RootDir: "/n/worker-1/kubelet", Kubeconfig: "/n/worker-1/kubeconfig",
			SystemUUID: "42000000-0000-4000-8000-000000000001", CPUs: 4, MemoryBytes: 8 << 30, FeatureGates: map[string]bool{"B": false},
			OSImage: "Ubuntu", Kernel: "6.8.0", Speed: 2.5, ControlPlane: true, Server: NodeServer{Socket: "/n/s", Certificate: "/n/c", ClientCA: "/ca"},
			CSI: &CSINode{ByIDDir: "/n/worker-1/by-id", Kubeconfig: "/n/worker-1/csi", Boot: "1", MaxVolumes: 5, Driver: "d"},
		}, Node.Write, ReadNode),
		"knobs": check(Knobs{
			APIServer: []string{"v=2"}, ControllerManager: []string{"v=3"}, Scheduler: []string{"v=4"}, FeatureGates: map[string]bool{"A": true},
			RuntimeConfig: []string{"api/beta=true"}, AuditPolicy: "/a", SchedulerConfig: "/s", AdmissionConfig: "/d",
		}, Knobs.Write, ReadKnobs),
		"empty node": check(Node{}, Node.Write, ReadNode),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.json")
			if err := tc.write(path); err != nil {
				t.Fatal(err)
			}
			got, err := tc.read(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v, want it for its owner only", info.Mode(), err)
			}
		})
	}
}

type roundTrip = struct {
	write func(path string) error
	read  func(path string) (any, error)
	want  any
}

func check[T any](want T, write func(T, string) error, read func(string) (T, error)) roundTrip {
	return roundTrip{
		write: func(path string) error { return write(want, path) },
		read:  func(path string) (any, error) { return read(path) },
		want:  want,
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadNode(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if got, err := ReadTuning(path); err != nil || got != (Tuning{}) {
		t.Errorf("missing tuning: %+v, %v", got, err)
	}
	for name, text := range map[string]string{"cut short": `{"contract":3,`, "wrong type": `{"contract":3,"config":{"name":1}}`} {
		put(text)
		if _, err := ReadNode(path); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, want := range map[string]int{`{"name":"of a time before contracts"}`: 0, `{"contract":7,"config":1}`: 7} {
		put(text)
		_, err := ReadNode(path)
		if other, ok := errors.AsType[*OtherVersionError](err); !ok || other.Contract != want || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := (Node{}).Write(filepath.Join(path, "below")); err == nil {
		t.Error("written below a file")
	}
}
