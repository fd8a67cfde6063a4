package hollow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
)

// A service that is killed continues after a restart.
func TestRestart(t *testing.T) {
	r := newRig(t)
	r.used("v", "pod")
	r.write("v", "pod", "content")
	r.restart()
	r.ok(r.publish("v", "pod", "ext4", nil)) // staged already
	r.requireContent("v", "pod", "content")
	if _, err := r.Stats(t.Context(), "v", r.target("v", "pod")); err != nil {
		t.Error(err)
	}
	r.restart()
	r.end("v", "pod")
	r.requireGone(r.target("v", "pod"))
	r.restart()
	if err := r.publish("v", "pod", "ext4", nil); err == nil {
		t.Error("published what is not staged any more")
	}
}

// If the service is killed after any step, repeating the calls has the same result.
func TestKilledBetweenSteps(t *testing.T) {
	r := newRig(t)
	r.create("v")
	r.attach("v")
	target := r.target("v", "pod")
	for name, undo := range map[string]func(){
		"formatted, not written down": func() {
			r.ok(os.Remove(filepath.Join(r.opts.StateDir, "mounts.json")))
			_ = os.Remove(target)
		},
		"written down, not linked": func() { r.ok(os.Remove(target)) },
		"linked beside its place":  func() { r.ok(os.Rename(target, target+".new")) },
		"table half written": func() {
			r.ok(os.WriteFile(filepath.Join(r.opts.StateDir, "mounts.json.new"), []byte("{"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			r.ok(r.stage("v", "ext4"))
			r.ok(r.publish("v", "pod", "ext4", nil))
			r.write("v", "pod", "content")
			undo()
			r.restart()
			r.ok(r.stage("v", "ext4"))
			r.ok(r.publish("v", "pod", "ext4", nil))
			r.requireContent("v", "pod", "content")
			r.ok(os.Remove(target)) // removed, but still recorded
			r.restart()
			r.end("v", "pod")
			r.requireGone(target)
		})
	}
}

// Mounts do not survive a boot: kubelet finds its directories as after a power failure, and mounts again.
func TestReboot(t *testing.T) {
	r := newRig(t)
	r.opts.Boot = "first"
	r.restart()
	r.used("v", "pod")
	r.write("v", "pod", "content")
	r.restart() // of the service only
	r.requireContent("v", "pod", "content")

	r.opts.Boot = "second"
	r.restart()
	r.requireGone(r.target("v", "pod"))
	if err := r.publish("v", "pod", "ext4", nil); err == nil {
		t.Error("staged in another boot")
	}
	r.ok(r.stage("v", "ext4"))
	r.ok(r.publish("v", "pod", "ext4", nil))
	r.requireContent("v", "pod", "content")

	r.opts.Boot = "third"
	r.restart()
	r.end("v", "pod") // kubelet's calls for a pod that was deleted in between
	r.requireGone(r.target("v", "pod"))
}

func TestBadTable(t *testing.T) {
	r := newRig(t)
	r.used("v", "pod")
	r.ok(os.WriteFile(filepath.Join(r.opts.StateDir, "mounts.json"), []byte("nonsense"), 0o600))
	if _, err := newBackend(r); err == nil {
		t.Error("a table of nonsense was read")
	}
}

// Many pods use many volumes at once.
func TestConcurrent(t *testing.T) {
	r := newRig(t)
	s, err := node.New(node.Options{NodeID: "id", Backend: r.Backend})
	if err != nil {
		t.Fatal(err)
	}
	const volumes, pods = 8, 6
	for v := range volumes {
		r.create(fmt.Sprint("v", v))
		r.attach(fmt.Sprint("v", v))
	}
	var all sync.WaitGroup
	for v := range volumes {
		for p := range pods {
			all.Go(func() {
				volume, pod := fmt.Sprint("v", v), fmt.Sprint("pod-", p)
				for range 3 {
					for _, call := range requests(r, volume, pod) {
						if err := call(t.Context(), s); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
	}
	all.Wait()
	r.restart()
	for v := range volumes {
		for p := range pods {
			r.requireGone(r.target(fmt.Sprint("v", v), fmt.Sprint("pod-", p)))
		}
	}
}
