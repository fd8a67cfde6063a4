package storage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// patience is how long anything may take to become right after the last crash. A pod that was evicted from a node that
// was away for too long is the slowest: detaching by force takes 36 s.
const patience = 3 * time.Minute

// world is a sandbox with volumes, which the end of the test takes down.
type world struct {
	*testing.T
	state   string
	dir     string // of the sandbox
	sandbox *api.Client
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

// name is that of the sandbox.
const name = "storage"

func up(t *testing.T, topology string) *world {
	t.Helper()
	state, err := os.MkdirTemp("", "vss-")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, state: state}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.picture())
		}
		if out, err := w.try("down"); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
		if left, _ := filepath.Glob(filepath.Join(state, "*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if err := os.RemoveAll(state); err != nil {
			t.Error(err)
		}
	})
	if out, err := w.try("up", "--detach", "--csi", "builtin", topology); err != nil {
		t.Fatalf("up: %v\n%s", err, out)
	}
	dir, err := instance.Open(state, name)
	if err != nil {
		t.Fatal(err)
	}
	w.dir, w.sandbox = dir.Path(), api.NewClient(dir.SocketPath())
	st, err := w.sandbox.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rc, err := clientcmd.BuildConfigFromFlags("", st.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	rc.QPS, rc.Burst, rc.Timeout = 200, 400, 10*time.Second
	if w.client, err = kubernetes.NewForConfig(rc); err != nil {
		t.Fatal(err)
	}
	if w.dynamic, err = dynamic.NewForConfig(rc); err != nil {
		t.Fatal(err)
	}
	return w
}

// try runs the program about the sandbox.
func (w *world) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, binary, append([]string{"--name", name}, args...)...)
	c.Env = append(os.Environ(), "VSPHERE_SANDBOX_STATE="+w.state)
	out, err := c.CombinedOutput()
	return string(out), err
}

// do does something in the cluster, again and again while the API server is away. What is done already is done.
func (w *world) do(what string, f func(ctx context.Context) error) {
	w.Helper()
	var last error
	w.await(what, time.Minute, func(ctx context.Context) string {
		err := f(ctx)
		if apierrors.IsAlreadyExists(err) && last != nil || apierrors.IsNotFound(err) && strings.HasPrefix(what, "delete") {
			err = nil
		}
		if last = err; err != nil {
			return err.Error()
		}
		return ""
	})
}

// await waits until nothing is wrong any more, and fails the test when something still is after that time.
func (w *world) await(what string, within time.Duration, wrong func(ctx context.Context) string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), within)
	defer cancel()
	begin := time.Now()
	tick := time.NewTicker(200 * time.Millisecond) // what is asked for is in several places, of which not all can be watched
	defer tick.Stop()
	for {
		bad := wrong(ctx)
		if bad == "" {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.Fatalf("after %s, %s: %s", within, what, bad)
		}
	}
	if took := time.Since(begin); took > time.Second {
		w.Logf("%6.2fs  %s", took.Seconds(), what)
	}
}

// picture is everything there is to see.
func (w *world) picture() string {
	var b strings.Builder
	for _, args := range [][]string{
		{"status"},
		{"get", "vms"},
		{"get", "volumes", "-o", "wide"},
		{"get", "datastores"},
		{"kubectl", "get", "pods,pvc,pv,volumeattachments", "-A", "-o", "wide"},
		{"kubectl", "get", "volumesnapshots,volumesnapshotcontents", "-A"},
		{"kubectl", "get", "events", "-A", "--field-selector", "type=Warning"},
	} {
		out, _ := w.try(args...)
		fmt.Fprintf(&b, "$ %s\n%s\n", strings.Join(args, " "), out)
	}
	var events []event.Event
	if w.sandbox != nil {
		_ = w.sandbox.Events(context.Background(), 0, false, func(e event.Event, _ uint64) error {
			events = append(events, e)
			return nil
		})
	}
	for _, e := range events[max(0, len(events)-200):] {
		fmt.Fprintf(&b, "%4d %s %-10s %-24s %-30s %s (cause %d)\n", e.Seq, e.Time.Format("04:05.000"), e.Plane, e.Kind, e.Object.Name, e.Message, e.Cause)
	}
	logs, _ := filepath.Glob(filepath.Join(w.dir, "logs", "*c*.log"))
	for _, path := range logs {
		text, _ := os.ReadFile(path)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&b, "%s\n%s\n", path, strings.Join(lines[max(0, len(lines)-25):], "\n"))
	}
	return b.String()
}
