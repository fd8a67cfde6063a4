package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// worker is the VM of worker-1.
var worker = world.VMKey{VCenter: "vc", Ref: ref{Value: "vm-1"}}

// sleepingCCM is one cloud controller manager.
type sleepingCCM struct {
	ccm.Manager
	child *child.Child
}

func (c *sleepingCCM) Has(component string) bool { return component == ccm.Component }

func (c *sleepingCCM) Count() int { return 1 }

func (c *sleepingCCM) Child(component string) *child.Child {
	if c.Has(component) {
		return c.child
	}
	return nil
}

func (c *sleepingCCM) Stop(ctx context.Context) error { return c.child.Stop(ctx) }

// running returns a sandbox with a control plane, a cloud controller manager and the kubelet of worker-1, all of which are
// programs that sleep, and an API server's address without a server.
func running(t *testing.T) *Sandbox {
	t.Helper()
	s := newSandbox(t, "single")
	sleep := func(name string) child.Spec {
		return child.Spec{Name: name, Path: "/bin/sleep", Args: []string{"600"}, Backoff: child.Backoff{Min: time.Millisecond}}
	}
	cluster, err := embedded.New(embedded.Options{Name: "test", Dir: s.opts.Dir.Path(), Speed: pace.Speed(10)})
	if err != nil {
		t.Fatal(err)
	}
	s.cluster = cluster
	one := &sleepingCCM{Manager: s.ccm}
	s.ccm = one // before any child notifies the components, which ask s.ccm
	one.child = child.Start(sleep(ccm.Component), s.components.Notify)
	s.mu.Lock()
	s.controlPlane = child.Start(sleep(embedded.Component), s.components.Notify)
	s.mu.Unlock()

	v := world.VM{VM: api.VM{VCenter: "vc", Name: "worker-1", Power: string(node.On), Tools: true, Hostname: "worker-1"}, BootTime: time.Now(), Ref: worker.Ref}
	addWorker(t, s, v, func(n ground.Node) node.Guest {
		return node.New(node.Options{Spec: func(node.VM) (child.Spec, error) { return sleep("node/worker-1"), nil }, Notify: n.Notify})
	})
	for _, component := range []string{ccm.Component, "node/vc.vm-1"} {
		if _, err := s.proxies.Addr(component); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, stop := range []func(context.Context) error{s.nodes.Stop, s.ccm.Stop, s.controlPlane.Stop} {
			if err := stop(ctx); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(s.proxies.Close(), cluster.Close()); err != nil {
			t.Error(err)
		}
	})
	for component, object := range slept {
		logged(t, s, 0, object, "child.started") // which is logged after the row
		s.requireRow(t, component, "running")
	}
	return s
}

// row is what status says of a component.
func (s *Sandbox) row(name string) (state string, pid int) {
	for _, c := range s.Status().Components {
		if c.Name == name {
			return c.State, c.PID
		}
	}
	return "", 0
}

// requireRow waits until status says so of a component.
func (s *Sandbox) requireRow(t *testing.T, name, want string) (pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for tick := time.NewTicker(time.Millisecond); ; {
		state, pid := s.row(name)
		if state == want {
			return pid
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s is %q, want %q", name, state, want)
		}
	}
}

// logged returns the events about an object after one, each as "kind <- kind of its cause", until one of the last kind.
func logged(t *testing.T, s *Sandbox, after uint64, object, last string) (list []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		events, _, err := s.log.Wait(ctx, after, 1)
		if err != nil {
			t.Fatalf("%v: told %q", err, list)
		}
		after = events[0].Seq
		e := events[0]
		if e.Object.Name != object {
			continue
		}
		text := e.Kind
		if e.Cause != 0 {
			cause, _ := s.log.Read(e.Cause-1, 1)
			text += " <- " + cause[0].Kind
		}
		if list = append(list, text); e.Kind == last {
			return list
		}
	}
}

var slept = map[string]string{embedded.Component: embedded.Component, ccm.Component: ccm.Component, "node/worker-1": "worker-1"}

func TestKill(t *testing.T) {
	for component, object := range slept {
		t.Run(component, func(t *testing.T) {
			s := running(t)
			p := s.processes()
			_, before := s.row(component)
			why := s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "why"})
			release := p.(ownProcesses).Causing(component, why)
			if err := p.Kill(t.Context(), component); err != nil {
				t.Fatal(err)
			}
			release()
			want := []string{"component.killed <- why", "child.exited <- component.killed", "child.restarting <- child.exited", "child.started <- child.restarting"}
			if diff := cmp.Diff(want, logged(t, s, why, object, "child.started")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if pid := s.requireRow(t, component, "running"); pid == before {
				t.Errorf("process %d is still there", pid)
			}
		})
	}
}

func TestRestartOfAComponent(t *testing.T) {
	for component, object := range slept {
		t.Run(component, func(t *testing.T) {
			s := running(t)
			after := s.log.Last()
			if err := s.processes().Restart(t.Context(), component); err != nil {
				t.Fatal(err)
			}
			want := []string{"component.restart", "child.restarting <- component.restart", "child.started <- child.restarting"}
			if diff := cmp.Diff(want, logged(t, s, after, object, "child.started")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPauseAndResume(t *testing.T) {
	for component, object := range slept {
		t.Run(component, func(t *testing.T) {
			s := running(t)
			p, after := s.processes(), s.log.Last()
			state, paused, resumed := "suspended", "component.paused", "component.resumed"
			if strings.HasPrefix(component, "node/") {
				state, paused, resumed = string(node.Hung), "node.hung", "node.resumed"
			}
			if err := p.Pause(t.Context(), component); err != nil {
				t.Fatal(err)
			}
			s.requireRow(t, component, state)
			if err := p.Pause(t.Context(), component); err != nil {
				t.Errorf("again: %v", err)
			}
			// What is started in its place stands still, too.
			if err := p.Kill(t.Context(), component); err != nil {
				t.Fatal(err)
			}
			logged(t, s, after, object, "child.started")
			s.requireRow(t, component, state)
			for range 2 {
				if err := p.Resume(t.Context(), component); err != nil {
					t.Error(err)
				}
			}
			s.requireRow(t, component, "running")
			want := []string{paused, "component.killed", "child.exited <- component.killed", "child.restarting <- child.exited", "child.started <- child.restarting", resumed}
			if diff := cmp.Diff(want, logged(t, s, after, object, resumed)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCutAndMend(t *testing.T) {
	for _, component := range []string{ccm.Component, "node/worker-1"} {
		t.Run(component, func(t *testing.T) {
			s := running(t)
			p, after := s.processes(), s.log.Last()
			target, err := s.supervised(component)
			if err != nil {
				t.Fatal(err)
			}
			addr, err := s.proxies.Addr(target.wire)
			if err != nil {
				t.Fatal(err)
			}
			for _, silent := range []bool{true, false} {
				if err := p.Cut(component, silent); err != nil {
					t.Fatal(err)
				}
				if err := ask(addr); errors.Is(err, os.ErrDeadlineExceeded) != silent {
					t.Errorf("silent %v: %v", silent, err)
				}
			}
			for range 2 {
				if err := p.Restore(component); err != nil {
					t.Error(err)
				}
			}
			want := []string{"api.cut", "api.cut", "api.mended"}
			if diff := cmp.Diff(want, logged(t, s, after, target.object.Name, "api.mended")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// ask connects and waits a while for a word; the error says how that went.
func ask(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

func TestWhatCannotBeDoneToProcesses(t *testing.T) {
	s := running(t)
	p := s.processes()
	if err := p.Cut(embedded.Component, true); err == nil {
		t.Error("the control plane has no way to itself")
	}
	for _, component := range []string{"ccm-2", "csi", "node/worker-2", ""} {
		for name, err := range map[string]error{
			"kill": p.Kill(t.Context(), component), "pause": p.Pause(t.Context(), component), "cut": p.Cut(component, false), "restart": p.Restart(t.Context(), component),
			"scale": p.Scale(t.Context(), component, 2),
		} {
			if err == nil {
				t.Errorf("%s %q: no error", name, component)
			}
		}
		if p.Running(component) == nil || p.Replicas(component) != 0 || p.Resume(t.Context(), component) != nil || p.Restore(component) != nil {
			t.Errorf("%q: there is one, or it is no peace to heal it", component)
		}
	}
	for component := range slept {
		if n := p.Replicas(component); n != 1 {
			t.Errorf("%s: %d", component, n)
		}
		if err := p.Running(component); err != nil {
			t.Errorf("%s: %v", component, err)
		}
	}
	s.nodes.Guest(worker).Observe(node.VM{Exists: true, Power: node.Off})
	s.requireRow(t, "node/worker-1", "stopped")
	if err := p.Running("node/worker-1"); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("a kubelet of a VM that is off runs: %v", err)
	}
	if err := p.Kill(t.Context(), "node/worker-1"); err == nil || p.Replicas("node/worker-1") != 0 {
		t.Errorf("a kubelet of a VM that is off: %v", err)
	}
}

// Without anybody who says so the fault that is about the VM is the cause.
func TestCauseOfWhatAFaultDoes(t *testing.T) {
	s := running(t)
	s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "fault.injected", Object: event.Object{Kind: "VM", VCenter: "vc", Name: "worker-1"}, Message: "f1: vm.hang on vc/worker-1"})
	s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "fault.injected", Object: event.Object{Kind: "VM", VCenter: "vc", Name: "worker-2"}, Message: "f2: vm.hang on vc/worker-2"})
	after := s.log.Last()
	if err := s.processes().Pause(t.Context(), "node/worker-1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"node.hung <- fault.injected"}, logged(t, s, after, "worker-1", "node.hung")); diff != "" {
		t.Error(diff)
	}
	events, _ := s.log.Read(after, 0)
	if events[0].Cause != after-1 {
		t.Errorf("%+v", events[0])
	}
}

// The kubelet of a VM that dies with its host dies at once, for that reason.
func TestDeath(t *testing.T) {
	s := running(t)
	after := s.log.Append(event.Event{Plane: event.PlaneVSphere, Kind: "vm.died", Object: event.Object{Kind: "VM", VCenter: "vc", Name: "worker-1"}})
	s.nodes.Guest(worker).Die()
	if diff := cmp.Diff([]string{"child.stopped <- vm.died"}, logged(t, s, after, "worker-1", "child.stopped")); diff != "" {
		t.Error(diff)
	}
	s.requireRow(t, "node/worker-1", "stopped")
}

func TestWires(t *testing.T) {
	s := running(t)
	first, err := s.proxies.Addr("a")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := s.proxies.Addr("a")
	other, _ := s.proxies.Addr("b")
	if again != first || other == first || first == s.cluster.Addr() {
		t.Errorf("a is %s and %s, b is %s, the API server %s", first, again, other, s.cluster.Addr())
	}
	for range 2 {
		if err := s.proxies.Drop("a"); err != nil {
			t.Error(err)
		}
	}
	if c, err := net.Dial("tcp", first); err == nil {
		c.Close()
		t.Error("the wire is still there")
	}
	if err := s.proxies.Close(); err != nil {
		t.Error(err)
	}
	if addr, err := s.proxies.Addr("a"); err == nil {
		t.Errorf("made one at the end: %s", addr)
	}
}

// stuckGuest does not crash before the context ends.
type stuckGuest struct{ node.Guest }

func (stuckGuest) Crash(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// The context of a fault bounds a kill.
func TestKillEndsWithContext(t *testing.T) {
	s := newSandbox(t, "single")
	v := world.VM{VM: api.VM{VCenter: "vc", Name: "worker-1", Power: string(node.On), Tools: true, Hostname: "worker-1"}, BootTime: time.Now(), Ref: worker.Ref}
	addWorker(t, s, v, func(n ground.Node) node.Guest {
		return stuckGuest{node.New(node.Options{
			Spec: func(node.VM) (child.Spec, error) {
				return child.Spec{Name: "node/worker-1", Path: "/bin/sleep", Args: []string{"600"}}, nil
			},
			Notify: n.Notify,
		})}
	})
	t.Cleanup(func() {
		if err := s.nodes.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s.requireRow(t, "node/worker-1", "running")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.processes().Kill(ctx, "node/worker-1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
