package kind

import (
	"archive/tar"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/csidriver"
	programs "github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// upstreamDriver is the release of upstream's CSI driver whose module and manifest are tried.
const upstreamDriver = "v3.7.0"

// Upstream's CSI driver, built from its module and deployed with its own release's manifest, makes a volume, which a pod writes
// to.
func TestUpstreamCSI(t *testing.T) {
	h := newHome(t)
	begin := time.Now()
	if _, err := csidriver.Build(t.Context(), upstreamDriver, programs.Options{Progress: func(text string) { t.Log(text) }}); err != nil {
		t.Fatal(err)
	}
	took(t, "upstream "+upstreamDriver+" is built from its module", begin)
	begin = time.Now()
	h.sidecarImages()
	took(t, "Docker has its sidecars", begin)
	begin = time.Now()
	r := h.Within(15*time.Minute, "--name", "upcsi", "up", "--detach", "--cluster", "kind", "--kind-image", node, "single", "--csi", "module:"+upstreamDriver)
	if r.Code != 0 {
		t.Fatalf("exit status %d\n%s", r.Code, r.Both())
	}
	s := h.attach("upcsi")
	took(t, "it is up", begin)
	s.bootSteps()
	s.checkUpstreamDriver()

	s.give(scribe)
	begin = time.Now()
	text := anywhere(writer("book", ""))
	s.Run("kubectl", "apply", "-f", s.File("book.yaml", text))
	s.await("the pod has the volume", 4*time.Minute, func() string { return s.inUse("book", "") })
	v := s.volume("book")
	s.await("it has written", time.Minute, func() string { return s.read("book", v.Node, "written on "+v.Node) })
	took(t, "from the claim to what is written", begin)
	if s.disk(v) == "" {
		t.Errorf("no disk of volume %s among those of VM %s: %+v", v.Name, v.VM, s.vms()[v.VM].Disks)
	}
	s.Run("kubectl", "delete", "deployment/book", "pvc/book", "--wait=false")
	s.await("no volume is left", 4*time.Minute, func() string {
		if v := s.volume("book"); v.Name != "" {
			return v.Name + " is " + string(v.State)
		}
		return ""
	})
	s.Run("down")
	h.nothingLeft()
}

// An image that neither Docker nor the manifest has is reported, with what to do, and nothing is left.
func TestUpstreamCSIWithoutImage(t *testing.T) {
	h := newHome(t)
	const image = "localhost:5000/nobody/driver:v3.7.0"
	h.refused(h.Within(5*time.Minute, "--name", "noimage", "up", "--detach", "--cluster", "kind", "--kind-image", node, "single", "--csi", "image:"+image),
		4, "has no such image", "docker pull "+image)
}

// checkUpstreamDriver wants pods as the manifest has them, and none of ours in their place.
func (s *sandbox) checkUpstreamDriver() {
	s.T.Helper()
	controllers, nodes := 0, map[string]bool{}
	for _, p := range program.Kubectl[corev1.PodList](s.Sandbox, "get", "pods", "-n", "vmware-system-csi").Items {
		images := imagesOf(p)
		switch {
		case strings.Contains(images, "localhost/vsphere-csi"):
			s.T.Errorf("our own runs beside it: pod %s", p.Name)
		case !strings.Contains(images, "registry.k8s.io/csi-vsphere/driver:"+upstreamDriver):
		case owner(p) == "DaemonSet":
			nodes[p.Spec.NodeName] = true
		case p.Status.Phase == corev1.PodRunning:
			controllers++
		}
	}
	if controllers != 1 || len(nodes) != len(s.Nodes()) {
		s.T.Errorf("%d controllers run, and node services on %d of %d nodes", controllers, len(nodes), len(s.Nodes()))
	}
	states := map[string]string{}
	for _, c := range s.Status().Components {
		states[c.Name] = c.State
	}
	for _, name := range []string{"csi-controller", "csi-syncer", "csi-provisioner", "csi-attacher"} {
		if states[name] != "running" {
			s.T.Errorf("component %s is %q of %v", name, states[name], states)
		}
	}
}

// sidecarImages gives Docker the other images that the manifest names. Of the sidecars the module proxy has newer releases than those, and
// they are made of the sandbox's program: with the feature gate that the older one has off.
func (h *home) sidecarImages() {
	h.T.Helper()
	const at = "registry.k8s.io/sig-storage/"
	dir := h.T.TempDir()
	stock := filepath.Join(filepath.Dir(binary), "csi-sidecars")
	for name, entrypoint := range map[string]string{
		"csi-attacher:v4.9.0": `"csi-attacher"`, "csi-resizer:v1.12.0": `"csi-resizer"`, "csi-snapshotter:v8.2.0": `"csi-snapshotter"`,
		"csi-provisioner:v4.0.1": `"csi-provisioner","--feature-gates=Topology=false"`,
	} {
		f, err := os.Open(tarOf(h.T, stock, filepath.Join(dir, "stock.tar")))
		if err != nil {
			h.T.Fatal(err)
		}
		_, err = dockerWith(f, "import", "--change", `ENTRYPOINT ["/csi-sidecars",`+entrypoint+`]`, "-", at+name)
		f.Close()
		if err != nil {
			h.T.Fatal(err)
		}
	}
	own := filepath.Join(dir, "nodesidecars")
	build := exec.Command("go", "build", "-o", own, "./nodesidecars")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		h.T.Fatalf("go build: %v\n%s", err, out)
	}
	set, err := image.FromPrograms(h.T.Context(),
		image.Foreign{File: own, At: "/csi-node-driver-registrar", Names: []string{at + "csi-node-driver-registrar:v2.13.0"}},
		image.Foreign{File: own, At: "/livenessprobe", Names: []string{at + "livenessprobe:v2.15.0"}})
	if err != nil {
		h.T.Fatal(err)
	}
	archive := filepath.Join(dir, "own.tar")
	if err := set.WriteFile(h.T.Context(), archive); err != nil {
		h.T.Fatal(err)
	}
	if _, err := docker("load", "--input", archive); err != nil {
		h.T.Fatal(err)
	}
}

// tarOf writes a tar that has one program, and returns its path.
func tarOf(t *testing.T, file, to string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := tar.NewWriter(out)
	if err := w.WriteHeader(&tar.Header{Name: filepath.Base(file), Mode: 0o755, Size: info.Size()}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, f); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}
