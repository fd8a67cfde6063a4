package evidence_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/await"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/evidence"
)

const watcherFailed = `E1126 10:00:00.000001       1 plugin_manager.go:1] "The plugin watcher failed" err="too many open files"`

// fixture has a kubelet whose plugin watcher failed, one that is well, a sidecar with an error, and a CCM's events.
func fixture(t *testing.T) (f *evidence.Finder, log func(name string) string) {
	t.Helper()
	dir := t.TempDir()
	log = func(name string) string { return filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".log") }
	for name, text := range map[string]string{
		"node/worker-1": watcherFailed + "\nE1126 10:00:01.000001       1 a.go:1] \"later\"\n",
		"node/worker-2": "I1126 10:00:01.000001       1 a.go:1] \"well\"\n",
		"csi-attacher":  "E1126 10:00:01.000001       1 a.go:1] " + strings.Repeat("x", 1000) + "\n",
	} {
		if err := os.WriteFile(log(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	events := event.NewLog(0)
	for _, e := range []event.Event{
		{Kind: "ccm.vm-not-found", Object: event.Object{Kind: "Node", Name: "worker-1"}, Message: "no VM"},
		{Kind: "ccm.ambiguous", Object: event.Object{Kind: "Node", Name: "worker-1"}, Message: "two VMs have this name"},
		{Kind: "ccm.other", Object: event.Object{Kind: "Node", Name: "worker-9"}, Message: "another node"},
		{Kind: "node.ready", Object: event.Object{Kind: "Node", Name: "worker-1"}, Message: "Ready"},
	} {
		events.Append(e)
	}
	rows := []api.Component{{Name: "ccm", State: "backing-off", Message: "ccm: exit status 1: no route"}}
	for _, name := range []string{"control-plane", "csi-attacher", "node/worker-1", "node/worker-2"} {
		rows = append(rows, api.Component{Name: name, State: "running", Log: log(name)})
	}
	return &evidence.Finder{
		Log:        events,
		Components: func() []api.Component { return rows },
		Kubelet:    func(node string) string { return "node/" + node },
		IsKubelet:  func(component string) bool { return strings.HasPrefix(component, "node/") },
	}, log
}

// gaveUp returns the error of a wait for these Nodes.
func gaveUp(t *testing.T, nodes ...string) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := await.Waiter{Log: event.NewLog(0), Timeout: time.Second, Detail: func(string) {}}
		err = w.Each(context.Background(), await.State{Are: "well", Were: "was well", Missing: func() ([]string, int) { return nodes, len(nodes) }})
	})
	return err
}

func TestOfNodes(t *testing.T) {
	f, log := fixture(t)
	want := []string{
		"node worker-1: last event of the cloud controller manager: two VMs have this name",
		"node/worker-1: " + watcherFailed + " (log: " + log("node/worker-1") + ")",
		"ccm: exit status 1: no route",
		"csi-attacher: " + ("E1126 10:00:01.000001       1 a.go:1] " + strings.Repeat("x", 1000))[:400] + "… (log: " + log("csi-attacher") + ")",
	}
	if diff := cmp.Diff(want, f.Of(gaveUp(t, "worker-1", "worker-2"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A step that waited for no Node has no evidence of Nodes.
func TestOfOtherStep(t *testing.T) {
	f, _ := fixture(t)
	lines := f.Of(errors.New("not done after 2m0s"))
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "ccm: ") || !strings.HasPrefix(lines[1], "csi-attacher: ") {
		t.Errorf("got %q", lines)
	}
}
