package kind

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// real returns the runtime and the node image for tests that make containers, or skips the test and says why.
func real(t *testing.T) (*runtime.Runtime, string) {
	t.Helper()
	image := os.Getenv("KIND_NODE_IMAGE")
	if image == "" {
		t.Skip("KIND_NODE_IMAGE names no node image: hack/kind-node/build -load makes one")
	}
	rt, err := Detect(t.Context())
	if err != nil {
		t.Skipf("no container runtime: %v", err)
	}
	if _, err := rt.Image(t.Context(), image); err != nil {
		t.Skipf("no node image: %v", err)
	}
	return rt, image
}

func realCluster(t *testing.T, name string, nodes ...Node) (*Cluster, *[]string) {
	t.Helper()
	rt, image := real(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	said := &[]string{}
	began := time.Now()
	c, err := New(Options{
		Name: name, Dir: dir, Nodes: nodes, Image: image, Speed: 10, Kubernetes: "v1.36.4", Runtime: rt,
		Progress: func(line string) {
			*said = append(*said, line)
			t.Logf("%5.1fs %s", time.Since(began).Seconds(), line)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Delete(ctx); err != nil {
			t.Error(err)
		}
	})
	return c, said
}

// volumes lists those of the runtime.
func volumes(t *testing.T, rt *runtime.Runtime) []string {
	t.Helper()
	out, err := rt.Output(t.Context(), "volume", "ls", "--quiet")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

func TestRealCluster(t *testing.T) {
	c, _ := realCluster(t, "kind-test",
		Node{Name: "cp-1", UUID: "42010000-0000-4000-8000-000000000001", ControlPlane: true},
		Node{Name: "worker-west-1", UUID: "42010000-0000-4000-8000-000000000011", CPUs: 1, MemoryBytes: 4 << 30},
	)
	began := time.Now()
	if err := c.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("made in %v", time.Since(began).Round(100*time.Millisecond))

	var ours []string // the volumes: others may be created and removed at the same time
	for _, m := range c.machines {
		known, err := c.rt.Inspect(t.Context(), m.container)
		if err != nil || known.Mounts["/var"] == "" {
			t.Fatalf("%s: %+v, %v", m.container, known, err)
		}
		ours = append(ours, filepath.Base(filepath.Dir(known.Mounts["/var"])))
	}

	t.Run("nodes", func(t *testing.T) { realNodes(t, c) })
	t.Run("kubeconfig", func(t *testing.T) { realKubeconfig(t, c) })
	t.Run("identity", func(t *testing.T) { realIdentity(t, c) })
	t.Run("relay", func(t *testing.T) { realRelay(t, c) })
	t.Run("images", func(t *testing.T) { realImages(t, c) })
	t.Run("taken", func(t *testing.T) { realTaken(t, c) })
	t.Run("gone", func(t *testing.T) { realGone(t, c) })

	began = time.Now()
	if err := c.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("deleted in %v", time.Since(began).Round(100*time.Millisecond))
	if left, err := Leftovers(t.Context(), c.rt, "kind-test"); err != nil || len(left) > 0 {
		t.Errorf("containers left: %v, %v", left, err)
	}
	for _, left := range volumes(t, c.rt) {
		if slices.Contains(ours, left) {
			t.Errorf("volume %s is left", left)
		}
	}
	if left, err := os.ReadDir(c.opts.Dir); err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
	if err := c.Delete(t.Context()); err != nil {
		t.Errorf("again: %v", err)
	}
}

func realNodes(t *testing.T, c *Cluster) {
	list, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	type node struct{ Name, UUID, ProviderID, Hostname string }
	var got []node
	for _, n := range list.Items {
		host := ""
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeHostName {
				host = a.Address
			}
		}
		got = append(got, node{n.Name, n.Status.NodeInfo.SystemUUID, n.Spec.ProviderID, host})
		if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "node.cloudprovider.kubernetes.io/uninitialized" }) {
			t.Errorf("node %s waits for no cloud provider: %v", n.Name, n.Spec.Taints)
		}
		if got := n.Status.Allocatable; n.Name == "worker-west-1" && (got.Cpu().Value() > 1 || got.Memory().Value() > 4<<30) {
			t.Errorf("node %s has a VM with one processor and 4 GiB, and offers %v and %v", n.Name, got.Cpu(), got.Memory())
		}
		_, head := n.Labels[controlPlaneRole]
		if head != (n.Name == "cp-1") {
			t.Errorf("node %s: control plane is %t", n.Name, head)
		}
		addr, err := c.Address(t.Context(), n.Name)
		if ip := n.Annotations["alpha.kubernetes.io/provided-node-ip"]; err != nil || ip != addr.String() {
			t.Errorf("node %s says it has %s, its container has %v (%v)", n.Name, ip, addr, err)
		}
	}
	want := []node{
		{"cp-1", "42010000-0000-4000-8000-000000000001", "", "cp-1"},
		{"worker-west-1", "42010000-0000-4000-8000-000000000011", "", "worker-west-1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	out, err := c.Exec(t.Context(), "cp-1", nil, "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "-n", "kube-system", "get", "pods",
		"-l", "component=kube-controller-manager", "-o", "jsonpath={.items[0].spec.containers[0].command}")
	if err != nil || !strings.Contains(string(out), "--node-monitor-grace-period=5s") || !strings.Contains(string(out), "--cloud-provider=external") {
		t.Errorf("controller manager: %s, %v", out, err)
	}
	if out, err = c.Exec(t.Context(), "worker-west-1", nil, "cat", "/var/lib/kubelet/config.yaml"); err != nil || !strings.Contains(string(out), "nodeLeaseDurationSeconds: 4\n") {
		t.Errorf("kubelet: %s, %v", out, err)
	}
}

func realKubeconfig(t *testing.T, c *Cluster) {
	info, err := os.Stat(c.Kubeconfig())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	file, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil || file.CurrentContext != "vsphere-sandbox-kind-test" || len(file.Contexts) != 1 {
		t.Errorf("%v, %v", file, err)
	}
	if host, _, err := net.SplitHostPort(c.Addr()); err != nil || host != "127.0.0.1" || c.Server() != "https://"+c.Addr() {
		t.Errorf("server %s, address %s", c.Server(), c.Addr())
	}
	token := filepath.Join(c.opts.Dir, "client")
	if err := c.Token(token, c.Addr(), "/none"); err != nil {
		t.Error(err)
	}
	if err := os.Remove(token); err != nil {
		t.Error(err)
	}
}

func realIdentity(t *testing.T, c *Cluster) {
	out, err := c.Exec(t.Context(), "worker-west-1", nil, "cat", serialPath)
	if err != nil || string(out) != "VMware-42 01 00 00 00 00 40 00-80 00 00 00 00 00 00 11\n" {
		t.Errorf("serial number %q, %v", out, err)
	}
	if out, err = c.Exec(t.Context(), "worker-west-1", nil, "systemctl", "show", "kubelet", "--property=DropInPaths", "--property=ActiveState"); err != nil ||
		!strings.Contains(string(out), unitPath) || !strings.Contains(string(out), "ActiveState=active") {
		t.Errorf("kubelet's unit: %q, %v", out, err)
	}
	// A file that is put into the folder on this machine is there in the node at once.
	file := filepath.Join(c.ByID("worker-west-1"), "wwn-0x6000")
	if err := os.WriteFile(file, []byte("disk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err = c.Exec(t.Context(), "worker-west-1", nil, "cat", "/dev/disk/by-id/wwn-0x6000"); err != nil || string(out) != "disk" {
		t.Errorf("by-id: %q, %v", out, err)
	}
	var e *coded.Error
	if _, err = c.Exec(t.Context(), "nobody", nil, "true"); err == nil || errors.As(err, &e) {
		t.Errorf("a node that is not there: %v", err)
	}
	if _, err = c.Exec(t.Context(), "cp-1", nil, "sh", "-c", "echo no luck >&2; exit 7"); runtime.Status(err) != 7 || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("exit status: %v", err)
	}
	if out, err = c.Exec(t.Context(), "cp-1", strings.NewReader("in"), "cat"); err != nil || string(out) != "in" {
		t.Errorf("standard input: %q, %v", out, err)
	}
}

func realRelay(t *testing.T, c *Cluster) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "this is a vCenter")
			conn.Close()
		}
	}()
	addr, err := c.Expose(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Exec(t.Context(), "worker-west-1", nil, "bash", "-c", fmt.Sprintf("cat </dev/tcp/%s/%d", addr.Addr(), addr.Port()))
	if err != nil || string(out) != "this is a vCenter\n" {
		t.Errorf("from a node, %s: %q, %v", addr, out, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if out, err := c.Exec(t.Context(), "worker-west-1", nil, "bash", "-c", fmt.Sprintf("cat </dev/tcp/%s/%d", addr.Addr(), addr.Port())); err == nil {
		t.Errorf("the relay is closed, and yet: %q", out)
	}
}

// scratchImage is a docker archive of an image with one file.
func scratchImage(t *testing.T, tag, text string) []byte {
	t.Helper()
	layer := tarOf(t, map[string]string{"hello": text})
	return tarOf(t, map[string]string{
		"manifest.json": fmt.Sprintf(`[{"Config":"config.json","RepoTags":[%q],"Layers":["layer.tar"]}]`, tag),
		"config.json":   fmt.Sprintf(`{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":["sha256:%x"]}}`, sha256.Sum256(layer)),
		"layer.tar":     string(layer),
	})
}

func imageFile(t *testing.T, archive []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "images.tar")
	if err := os.WriteFile(name, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func realImages(t *testing.T, c *Cluster) {
	image := scratchImage(t, "vsphere-sandbox/test:1", "one")
	got, err := c.LoadImages(t.Context(), imageFile(t, image))
	slices.Sort(got.Nodes)
	want := Loaded{Images: []string{"docker.io/vsphere-sandbox/test:1"}, Nodes: []string{"cp-1", "worker-west-1"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	out, err := c.Exec(t.Context(), "worker-west-1", nil, "ctr", "-n", "k8s.io", "images", "list", "-q")
	if err != nil || !strings.Contains(string(out), "docker.io/vsphere-sandbox/test:1\n") {
		t.Errorf("images of a node: %s, %v", out, err)
	}
	if got, err = c.LoadImages(t.Context(), imageFile(t, image), "worker-west-1"); err != nil || !slices.Equal(got.Present, []string{"worker-west-1"}) {
		t.Errorf("again: %+v, %v", got, err)
	}
	// Another content by the same name is loaded.
	other := scratchImage(t, "vsphere-sandbox/test:1", "another")
	if got, err = c.LoadImages(t.Context(), imageFile(t, other), "worker-west-1"); err != nil || !slices.Equal(got.Nodes, []string{"worker-west-1"}) {
		t.Errorf("another image of the same name: %+v, %v", got, err)
	}
	if _, err = c.LoadImages(t.Context(), imageFile(t, []byte("nonsense"))); err == nil || !strings.Contains(err.Error(), "is no tar archive of images") {
		t.Errorf("nonsense: %v", err)
	}
}

func realTaken(t *testing.T, c *Cluster) {
	opts := c.opts
	opts.Dir = t.TempDir()
	other, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	err = other.Create(t.Context())
	if !coded.Is(err, NameTaken) || !strings.Contains(err.Error(), c.opts.Dir) {
		t.Errorf("the name of another sandbox's cluster: %v", err)
	}
	if removed, err := Reap(t.Context(), c.rt, "kind-test", opts.Dir); err != nil || len(removed) > 0 {
		t.Errorf("reaped what is another's: %v, %v", removed, err)
	}
}

// realGone takes a node away by and by: what cannot be done in it says why.
func realGone(t *testing.T, c *Cluster) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	container := c.Container("worker-west-1")
	if err := c.rt.Pause(ctx, container); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, "worker-west-1", nil, "true"); !coded.Is(err, runtime.ContainerStopped) || !strings.Contains(err.Error(), "paused") {
		t.Errorf("in a paused node: %v", err)
	}
	if err := errors.Join(c.rt.Unpause(ctx, container), c.rt.Kill(ctx, container)); err != nil {
		t.Fatal(err)
	}
	for { // a kill returns before the end
		known, err := c.rt.Inspect(ctx, container)
		if err != nil {
			t.Fatal(err)
		}
		if !known.Running() {
			break
		}
	}
	if _, err := c.Exec(ctx, "worker-west-1", nil, "true"); !coded.Is(err, runtime.ContainerStopped) {
		t.Errorf("in a stopped node: %v", err)
	}
	if err := c.rt.Remove(ctx, container); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, "worker-west-1", nil, "true"); !coded.Is(err, NodeGone) {
		t.Errorf("in a node that was removed: %v", err)
	}
}
