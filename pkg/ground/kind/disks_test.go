package kind

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// withVolumes is a sandbox on kind that has chosen what its volumes are; loops is why there can be no loop devices.
func withVolumes(t *testing.T, volumes string, loops error) (*Ground, error) {
	t.Helper()
	k, _ := idle(t)
	k.CSI, k.Options.Volumes, k.rt = true, volumes, runtime.New("docker")
	err := k.chooseDisks(func(string) error { return loops })
	if err == nil {
		k.openDisks("node:1")
	}
	return k, err
}

func TestVolumesOnKind(t *testing.T) {
	refused := errors.New("files cannot be disks here: denied")
	for name, tc := range map[string]struct {
		volumes string
		loops   error
		why     string // why they are directories; "" when they are not
		code    string
	}{
		"devices":              {},
		"refused":              {loops: refused, why: "volumes are directories, not block devices: " + refused.Error()},
		"asked for":            {volumes: VolumesDir, why: "volumes are directories, not block devices: as was asked for"},
		"insisted on":          {volumes: VolumesDevice},
		"insisted and refused": {volumes: VolumesDevice, loops: refused, code: kind.NoLoopDevices},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := withVolumes(t, tc.volumes, tc.loops)
			if tc.code != "" {
				if !coded.Is(err, tc.code) || !errors.Is(err, refused) {
					t.Errorf("%v, want %s", err, tc.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var said []event.Event
			all, _ := k.Log.Read(0, 1000)
			for _, e := range all {
				if e.Kind == "volumes.directories" {
					said = append(said, e)
				}
			}
			vc := k.Topology.Spec.VCenters[0].Name
			_, keeps := k.Guests(vc).(cns.Keeper)
			if tc.why == "" {
				if len(said) > 0 || keeps || k.PodVolumes().Backend != deploy.BackendDevice {
					t.Errorf("directories: %v, %+v", said, k.PodVolumes())
				}
				return
			}
			if len(said) != 1 || said[0].Message != tc.why || said[0].Level != event.Warning {
				t.Errorf("said %+v, want %q", said, tc.why)
			}
			if v := k.PodVolumes(); !keeps || v.Backend != deploy.BackendDir || v.Dir != filepath.Join(k.Dir, "sim", "volumes") {
				t.Errorf("%+v, keeps contents %t", v, keeps)
			}
		})
	}
	k, err := withVolumes(t, "", refused)
	if err != nil {
		t.Fatal(err)
	}
	k.CSI, k.folders, k.disks = false, "", nil
	if err := k.chooseDisks(func(string) error { return refused }); err != nil || k.folders != "" {
		t.Errorf("without volumes: %q, %v", k.folders, err)
	}
	if k.openDisks(""); k.Guests("any") != nil {
		t.Error("without volumes there are disks")
	}
}

// The files of a volume that is a directory are found, those of a block device not, which is said.
func TestVolumePathOnKind(t *testing.T) {
	k, err := withVolumes(t, VolumesDevice, nil)
	if err != nil {
		t.Fatal(err)
	}
	var e *api.Error
	_, err = k.Path(api.Volume{Name: "pvc-1", Node: "n"})
	if !errors.As(err, &e) || e.Code != "conflict" || !strings.Contains(e.Try, "--kind-volumes dir") {
		t.Errorf("of a block device: %v", err)
	}
}

// Leftovers of pods go with the cluster, also if another process removes it; sandboxes on other grounds have none.
func TestRemoveVolumes(t *testing.T) {
	k, err := withVolumes(t, VolumesDir, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := k.Dir
	left := filepath.Join(k.folders, "us", "volume", "data")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := RemoveVolumes(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Errorf("without a note: %v", err)
	}
	if err := k.note("node:1"); err != nil {
		t.Fatal(err)
	}
	if with, err := Runtime(dir); err != nil || with.Name() != "docker" {
		t.Errorf("%v, %v", with, err)
	}
	for range 2 {
		if err := RemoveVolumes(t.Context(), dir); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(k.folders); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
}

// A plan says what volumes would be, and mounts what they need.
func TestVolumesInPlan(t *testing.T) {
	for volumes, want := range map[string]string{
		"":            "where those are refused, directories in /state/test/sim/volumes",
		VolumesDevice: "have volumes be block devices",
		VolumesDir:    "have volumes be directories, in /state/test/sim/volumes",
	} {
		k, _ := idle(t)
		k.CSI, k.Image, k.Options.Volumes, k.Dir = true, "node:1", volumes, "/state/test"
		config, steps, err := Plan(t.Context(), k.Config)
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(steps, "\n"); !strings.Contains(all, want) {
			t.Errorf("%q: no %q in\n%s", volumes, want, all)
		}
		if is := strings.Contains(string(config), "containerPath: /state/test/sim/volumes"); is != (volumes == VolumesDir) {
			t.Errorf("%q: mounted %t", volumes, is)
		}
	}
}
