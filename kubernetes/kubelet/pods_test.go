package kubelet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/volume/util/subpath"

	podruntime "github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/runtime"
)

// The kubelet gets pods, alone and in lists, as the runtime needs them.
func TestPodsAreAdapted(t *testing.T) {
	const pod = `{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"port": 80}}}]}}`
	decoder := adapting{scheme.Codecs.WithoutConversion()}.DecoderToVersion(scheme.Codecs.UniversalDeserializer(), corev1.SchemeGroupVersion)
	for _, text := range []string{pod, `{"apiVersion": "v1", "kind": "PodList", "items": [` + pod + `]}`} {
		obj, _, err := decoder.Decode([]byte(text), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := obj.(*corev1.Pod)
		if !ok {
			got = &obj.(*corev1.PodList).Items[0]
		}
		if p := got.Spec.Containers[0].LivenessProbe; p.HTTPGet != nil || p.Exec == nil {
			t.Errorf("%T: %+v", obj, p)
		}
	}
}

// The recorder is real from the moment on when the kubelet asks for its tracer, and a fake one before.
func TestEventsAreRecorded(t *testing.T) {
	fake := &record.FakeRecorder{}
	deps := &kubelet.Dependencies{Recorder: fake}
	if err := recordEvents(t.Context(), deps, &rest.Config{Host: "http://127.0.0.1:1"}, "worker-1"); err != nil {
		t.Fatal(err)
	}
	deps.TracerProvider.Tracer("another")
	if deps.Recorder != record.EventRecorderLogger(fake) {
		t.Errorf("%T before", deps.Recorder)
	}
	deps.TracerProvider.Tracer(kubeletTracer)
	if _, ok := deps.Recorder.(*record.FakeRecorder); ok {
		t.Error("it is still a fake")
	}
}

// A subPath stays in its volume, also when it is made, and what the VM has elsewhere is below the kubelet's root.
func TestSubPaths(t *testing.T) {
	host := t.TempDir()
	root := vmRoot(filepath.Join(host, "kubelet"))
	volume := filepath.Join(string(root), "pods", "volume")
	if err := os.MkdirAll(volume, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../..", filepath.Join(volume, "up")); err != nil {
		t.Fatal(err)
	}
	s := subPaths{root}
	if err := s.SafeMakeDir("a/b", volume, 0o755); err != nil {
		t.Fatal(err)
	}
	path, _, err := s.PrepareSafeSubpath(subpath.Subpath{VolumePath: volume, Path: filepath.Join(volume, "a/b")})
	if want := volume + podruntime.Below + "a/b"; path != want || err != nil {
		t.Errorf("%s %v", path, err)
	}
	if err := s.SafeMakeDir("up/out", volume, 0o755); err == nil {
		t.Error("a folder was made outside of the volume")
	}
	if path, _, err := s.PrepareSafeSubpath(subpath.Subpath{VolumePath: volume, Path: filepath.Join(volume, "up")}); err == nil {
		t.Errorf("outside of the volume: %s", path)
	}
	if err := s.SafeMakeDir("logs", "/var/nowhere", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(string(root), podruntime.HostDir, "var/nowhere/logs")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/var/nowhere"); !os.IsNotExist(err) {
		t.Errorf("on this host: %v", err)
	}
}

// The kubelet changes nothing outside of its root.
func TestOS(t *testing.T) {
	dir := t.TempDir()
	o := vmOS{root: vmRoot(filepath.Join(dir, "kubelet"))}
	outside := filepath.Join(dir, "kubelet-logs")
	if err := o.MkdirAll(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := o.Symlink("/etc/passwd", outside); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file.log")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := o.RemoveAll(dir); err != nil {
		t.Error(err)
	}
	if found, err := o.Glob(filepath.Join(dir, "*.log")); len(found) != 0 || err != nil {
		t.Errorf("%v %v", found, err)
	}
	if err := o.MkdirAll(filepath.Join(dir, "kubelet", "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "file.log kubelet" || err != nil {
		t.Errorf("%s %v", got, err)
	}
}
