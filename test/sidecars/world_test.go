package sidecars

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/sidecars"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// patience is how long anything may take on a busy machine.
const patience = 40 * time.Second

// world is a control plane with the driver's objects, a driver, and the sidecars.
type world struct {
	*testing.T
	dir     string
	cluster *embedded.Cluster
	client  kubernetes.Interface
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	driver  *memoryDriver
}

// start returns when the sidecars have been started.
func start(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir()}
	w.controlPlane()
	all, err := objects.All(objects.Config{LeaderElection: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		w.create(o)
	}
	// The names of a test's folders are too long for a socket.
	dir, err := os.MkdirTemp("", "csi")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "csi.sock")
	w.driver = serve(t, socket)
	program := w.program()
	for _, name := range processes() {
		w.sidecar(program, name, socket)
	}
	return w
}

// processes are the sidecars, which are called as their ServiceAccounts are.
func processes() []string {
	return []string{objects.Provisioner, objects.Attacher, objects.Resizer, objects.Snapshotter, objects.SnapshotController}
}

func (w *world) controlPlane() {
	w.Helper()
	w.cluster = lab.ControlPlane(w.T, embedded.Options{Name: "sidecars", Dir: w.dir, Speed: 1, Audit: true})
	lab.Await(w.T, w.cluster, w.dir)
	config, err := clientcmd.BuildConfigFromFlags("", w.cluster.Kubeconfig())
	if err != nil {
		w.Fatal(err)
	}
	config.QPS = -1
	if w.client, err = kubernetes.NewForConfig(config); err != nil {
		w.Fatal(err)
	}
	if w.dynamic, err = dynamic.NewForConfig(config); err != nil {
		w.Fatal(err)
	}
	w.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(w.client.Discovery()))
}

func (w *world) root() string {
	w.Helper()
	root, err := program.Root()
	if err != nil {
		w.Fatal(err)
	}
	return root
}

func (w *world) tail(file string) string {
	log, _ := os.ReadFile(file) // there may be none
	return lab.Tail(log, 6000)
}

// program is the one with the sidecars.
func (w *world) program() string {
	w.Helper()
	if path := os.Getenv(sidecars.Env); path != "" {
		return path
	}
	path := filepath.Join(w.dir, sidecars.Program)
	build := exec.CommandContext(w.Context(), "go", "build", "-o", path, "./cmd/csi-sidecars")
	build.Dir, build.Env = w.root(), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		w.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// sidecar runs one, as its ServiceAccount, until the test ends.
func (w *world) sidecar(program, name, socket string) {
	w.Helper()
	seconds := int64(time.Hour.Seconds())
	token, err := w.client.CoreV1().ServiceAccounts(objects.DefaultNamespace).CreateToken(w.Context(), name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	file, kubeconfig, log := filepath.Join(w.dir, name+".token"), filepath.Join(w.dir, name+".kubeconfig"), filepath.Join(w.dir, name+".log")
	if err := os.WriteFile(file, []byte(token.Status.Token), 0o600); err != nil {
		w.Fatal(err)
	}
	if err := w.cluster.Via(w.cluster.Addr()).Token(kubeconfig, "default", file); err != nil {
		w.Fatal(err)
	}
	args := []string{
		name, "--kubeconfig=" + kubeconfig, "--leader-election", "--leader-election-namespace=" + objects.DefaultNamespace,
		"--kube-api-qps=100", "--kube-api-burst=100", "--retry-interval-start=200ms", "--retry-interval-max=1s", "--v=4",
	}
	args = append(args, map[string][]string{
		objects.Provisioner: {"--strict-topology", "--extra-create-metadata", "--default-fstype=ext4"},
		objects.Attacher:    {"--default-fstype=ext4", "--reconcile-sync=1s"},
		objects.Resizer:     {"--handle-volume-inuse-error=false"},
		objects.Snapshotter: {"--extra-create-metadata"},
	}[name]...)
	if name != objects.SnapshotController {
		args = append(args, "--csi-address="+socket)
	}
	c := child.Start(child.Spec{Name: name, Path: program, Args: args, LogPath: log}, nil)
	w.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			w.Error(err)
		}
		if w.Failed() {
			w.Logf("%s:\n%s", name, w.tail(log))
		}
	})
}

// create creates an object of any kind, once the API server knows its kind.
func (w *world) create(o runtime.Object) {
	w.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		w.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	w.until("create "+u.GetKind()+" "+u.GetName(), func() error {
		kind := u.GroupVersionKind()
		mapping, err := w.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			w.mapper.Reset()
			return err
		}
		_, err = w.dynamic.Resource(mapping.Resource).Namespace(u.GetNamespace()).Create(w.Context(), u, metav1.CreateOptions{})
		return err
	})
}

// until tries until there is no error.
func (w *world) until(what string, try func() error) {
	w.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	late := time.After(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-late:
			w.Fatalf("%s: %v", what, err)
		}
	}
}
