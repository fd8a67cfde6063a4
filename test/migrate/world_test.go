package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// name is that of the sandbox, patience how long anything may take on a busy machine.
const (
	name     = "migrate"
	patience = 2 * time.Minute
)

// world is a sandbox, which the end of the test takes down.
type world struct {
	*testing.T
	state, dir string // the second is the sandbox's
	sandbox    *api.Client
}

func up(t *testing.T, topology string) *world {
	t.Helper()
	state, err := os.MkdirTemp("", "vss-")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, state: state}
	t.Cleanup(func() {
		if t.Failed() {
			for _, args := range [][]string{
				{"get", "nodes"}, {"get", "vms"}, {"get", "volumes"}, {"logs", "csi-controller"}, {"kubectl", "get", "pods,pv,pvc,volumeattachments,cnsvspherevolumemigrations", "-o", "wide"},
			} {
				out, _ := w.try(args...)
				t.Logf("$ %s\n%s", strings.Join(args, " "), out[max(0, len(out)-6000):])
			}
		}
		if out, err := w.try("down"); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
		if err := os.RemoveAll(state); err != nil {
			t.Error(err)
		}
	})
	w.run("up", "--detach", "--csi", "builtin", topology)
	dir, err := instance.Open(state, name)
	if err != nil {
		t.Fatal(err)
	}
	w.dir, w.sandbox = dir.Path(), api.NewClient(dir.SocketPath())
	return w
}

// try runs the program about the sandbox; stdin is what it reads.
func (w *world) try(args ...string) (string, error) { return w.tryWith("", args...) }

func (w *world) tryWith(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, binary, append([]string{"--name", name}, args...)...)
	c.Env = append(os.Environ(), "VSPHERE_SANDBOX_STATE="+w.state)
	c.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return out.String() + errs.String(), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

// run is try for what has to succeed.
func (w *world) run(args ...string) string {
	w.Helper()
	out, err := w.try(args...)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

func (w *world) kubectl(args ...string) string {
	w.Helper()
	return w.run(append([]string{"kubectl"}, args...)...)
}

// apply applies a manifest.
func (w *world) apply(manifest string) {
	w.Helper()
	if _, err := w.tryWith(manifest, "kubectl", "apply", "-f", "-"); err != nil {
		w.Fatal(err)
	}
}

// object reads one object, or a list.
func object[T any](w *world, args ...string) (o T) {
	w.Helper()
	if err := json.Unmarshal([]byte(w.kubectl(append(args, "-o", "json")...)), &o); err != nil {
		w.Fatal(err)
	}
	return o
}

func (w *world) await(what string, wrong func() string) {
	w.Helper()
	begin := time.Now()
	tick := time.NewTicker(300 * time.Millisecond) // what is asked for is in several places, of which not all can be watched
	defer tick.Stop()
	for {
		bad := wrong()
		if bad == "" {
			w.Logf("%6.2fs  %s", time.Since(begin).Seconds(), what)
			return
		}
		select {
		case <-tick.C:
		case <-w.Context().Done():
			return
		}
		if time.Since(begin) > patience {
			w.Fatalf("after %s, %s: %s", patience, what, bad)
		}
	}
}

func (w *world) component(name string) api.Component {
	w.Helper()
	st, err := w.sandbox.Status(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range st.Components {
		if c.Name == name {
			return c
		}
	}
	w.Fatalf("no component %s", name)
	return api.Component{}
}

// events are those after a number.
func (w *world) events(after uint64) (all []event.Event) {
	w.Helper()
	if err := w.sandbox.Events(w.Context(), after, false, func(e event.Event, _ uint64) error {
		all = append(all, e)
		return nil
	}); err != nil {
		w.Fatal(err)
	}
	return all
}

func (w *world) last() (seq uint64) {
	for _, e := range w.events(0) {
		seq = e.Seq
	}
	return seq
}

// happened waits for an event of a kind after a number.
func (w *world) happened(after uint64, kind string) {
	w.Helper()
	w.await(kind, func() string {
		for _, e := range w.events(after) {
			if e.Kind == kind {
				return ""
			}
		}
		return "not told"
	})
}

// log is what a component has logged.
func (w *world) log(component string) string {
	w.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, "logs", component+".log"))
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}
