package processes

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/pods"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// worker is the VM of worker-1.
var worker = world.VMKey{VCenter: "vc", Ref: types.ManagedObjectReference{Value: "vm-1"}}

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

// oneGuest is a ground with one kind of guest.
type oneGuest struct {
	ground.Ground
	guest func(ground.Node) node.Guest
}

func (oneGuest) Light(*topology.VM) bool { return false }

func (g oneGuest) Guest(n ground.Node) node.Guest {
	n.Claim("worker-1")
	return g.guest(n)
}

// withWorker returns the processes of scenario single, in which the VM worker-1 is a Node with this guest.
func withWorker(t *testing.T, guest func(ground.Node) node.Guest) *Processes {
	t.Helper()
	top, err := scenarios.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := instance.Create(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	log, logger, groups := event.NewLog(0), slog.New(slog.DiscardHandler), &background.Groups{}
	proxies := &components.Proxies{Server: func() string { return "127.0.0.1:1" }}
	registry := &components.Registry{Dir: dir, Log: log, Logger: logger, Cache: &watchcache.Cache{}, Crashed: func(int, string) {}}
	causes := &causality.Finder{Log: log, Grace: 4 * time.Second}
	vms := nodes.New(nodes.Options{
		Ground: func() ground.Ground { return oneGuest{guest: guest} }, Topology: top, VCenters: func() vcenters.List { return nil },
		World: func() *world.World { return nil }, Dir: dir, Log: log, Logger: logger, Causes: causes, Components: registry,
		Proxies: proxies, Background: groups,
	})
	registry.Describe = vms.Describe
	if err := vms.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(vms.Stop(context.WithoutCancel(t.Context())), proxies.Close(), dir.Remove()); err != nil {
			t.Error(err)
		}
	})
	v := world.VM{
		VM:     api.VM{VCenter: worker.VCenter, Name: "worker-1", Power: string(node.On), Tools: true, Hostname: "worker-1"},
		Exists: true, BootTime: time.Now(), Ref: worker.Ref,
	}
	for _, r := range top.Nodes() {
		if r.VM.Name == v.Name {
			v.UUID = r.VM.UUID
		}
	}
	vms.Observe([]world.VM{v})
	return &Processes{
		Log: log, Causes: causes, Ongoing: &causality.Ongoing{}, Components: registry, Proxies: proxies, Nodes: vms, Pods: &pods.Pods{}, CSI: &csi.Driver{},
	}
}

// sleep returns a program that sleeps.
func sleep(name string) child.Spec {
	return child.Spec{Name: name, Path: "/bin/sleep", Args: []string{"600"}, Backoff: child.Backoff{Min: time.Millisecond}}
}

// kubelet returns a guest whose kubelet sleeps.
func kubelet(n ground.Node) node.Guest {
	return node.New(node.Options{Spec: func(node.VM) (child.Spec, error) { return sleep("node/worker-1"), nil }, Notify: n.Notify})
}

// running returns a control plane, a cloud controller manager and the kubelet of worker-1, all of which are programs that sleep,
// and the proxies of the last two to an API server that is not there.
func running(t *testing.T) *Processes {
	t.Helper()
	p := withWorker(t, kubelet)
	manager := &sleepingCCM{child: child.Start(sleep(ccm.Component), p.Components.Notify)}
	p.CCM = func() ccm.Manager { return manager }
	controlPlane := p.StartControlPlane(sleep(embedded.Component))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(manager.child.Stop(ctx), controlPlane.Stop(ctx)); err != nil {
			t.Error(err)
		}
	})
	for _, component := range []string{ccm.Component, "node/vc.vm-1"} {
		if _, err := p.Proxies.Addr(component); err != nil {
			t.Fatal(err)
		}
	}
	for component, object := range slept {
		logged(t, p, 0, object, "child.started") // which is logged after the row
		requireRow(t, p, component, "running")
	}
	return p
}

// row returns the row of a component.
func row(p *Processes, name string) (state string, pid int) {
	for _, c := range p.Components.Rows() {
		if c.Name == name {
			return c.State, c.PID
		}
	}
	return "", 0
}

// requireRow waits until a component is in a state.
func requireRow(t *testing.T, p *Processes, name, want string) (pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for tick := time.NewTicker(time.Millisecond); ; {
		state, pid := row(p, name)
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
func logged(t *testing.T, p *Processes, after uint64, object, last string) (list []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		events, _, err := p.Log.Wait(ctx, after, 1)
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
			cause, _ := p.Log.Read(e.Cause-1, 1)
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
			p := running(t)
			_, before := row(p, component)
			why := p.Log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "why"})
			release := p.Causing(component, why)
			if err := p.Kill(t.Context(), component); err != nil {
				t.Fatal(err)
			}
			release()
			want := []string{"component.killed <- why", "child.exited <- component.killed", "child.restarting <- child.exited", "child.started <- child.restarting"}
			if diff := cmp.Diff(want, logged(t, p, why, object, "child.started")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if pid := requireRow(t, p, component, "running"); pid == before {
				t.Errorf("process %d is still there", pid)
			}
		})
	}
}

func TestRestartOfAComponent(t *testing.T) {
	for component, object := range slept {
		t.Run(component, func(t *testing.T) {
			p := running(t)
			after := p.Log.Last()
			if err := p.Restart(t.Context(), component); err != nil {
				t.Fatal(err)
			}
			want := []string{"component.restart", "child.restarting <- component.restart", "child.started <- child.restarting"}
			if diff := cmp.Diff(want, logged(t, p, after, object, "child.started")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPauseAndResume(t *testing.T) {
	for component, object := range slept {
		t.Run(component, func(t *testing.T) {
			p := running(t)
			after := p.Log.Last()
			state, paused, resumed := "suspended", "component.paused", "component.resumed"
			if strings.HasPrefix(component, "node/") {
				state, paused, resumed = string(node.Hung), "node.hung", "node.resumed"
			}
			if err := p.Pause(t.Context(), component); err != nil {
				t.Fatal(err)
			}
			requireRow(t, p, component, state)
			if err := p.Pause(t.Context(), component); err != nil {
				t.Errorf("again: %v", err)
			}
			// What is started in its place stands still, too.
			if err := p.Kill(t.Context(), component); err != nil {
				t.Fatal(err)
			}
			logged(t, p, after, object, "child.started")
			requireRow(t, p, component, state)
			for range 2 {
				if err := p.Resume(t.Context(), component); err != nil {
					t.Error(err)
				}
			}
			requireRow(t, p, component, "running")
			want := []string{paused, "component.killed", "child.exited <- component.killed", "child.restarting <- child.exited", "child.started <- child.restarting", resumed}
			if diff := cmp.Diff(want, logged(t, p, after, object, resumed)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCutAndMend(t *testing.T) {
	for _, component := range []string{ccm.Component, "node/worker-1"} {
		t.Run(component, func(t *testing.T) {
			p := running(t)
			after := p.Log.Last()
			target, err := p.find(component)
			if err != nil {
				t.Fatal(err)
			}
			addr, err := p.Proxies.Addr(target.proxy)
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
			if diff := cmp.Diff(want, logged(t, p, after, target.object.Name, "api.mended")); diff != "" {
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
	p := running(t)
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
	p.Nodes.Guest(worker).Observe(node.VM{Exists: true, Power: node.Off})
	requireRow(t, p, "node/worker-1", "stopped")
	if err := p.Running("node/worker-1"); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("a kubelet of a VM that is off runs: %v", err)
	}
	if err := p.Kill(t.Context(), "node/worker-1"); err == nil || p.Replicas("node/worker-1") != 0 {
		t.Errorf("a kubelet of a VM that is off: %v", err)
	}
}

// Without anybody who says so the fault that is about the VM is the cause.
func TestCauseOfWhatAFaultDoes(t *testing.T) {
	p := running(t)
	p.Log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "fault.injected", Object: event.Object{Kind: "VM", VCenter: "vc", Name: "worker-1"}, Message: "f1: vm.hang on vc/worker-1"})
	p.Log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "fault.injected", Object: event.Object{Kind: "VM", VCenter: "vc", Name: "worker-2"}, Message: "f2: vm.hang on vc/worker-2"})
	after := p.Log.Last()
	if err := p.Pause(t.Context(), "node/worker-1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"node.hung <- fault.injected"}, logged(t, p, after, "worker-1", "node.hung")); diff != "" {
		t.Error(diff)
	}
	events, _ := p.Log.Read(after, 0)
	if events[0].Cause != after-1 {
		t.Errorf("%+v", events[0])
	}
}

// The kubelet of a VM that dies with its host dies at once, for that reason.
func TestDeath(t *testing.T) {
	p := running(t)
	after := p.Log.Append(event.Event{Plane: event.PlaneVSphere, Kind: "vm.died", Object: event.Object{Kind: "VM", VCenter: "vc", Name: "worker-1"}})
	p.Nodes.Guest(worker).Die()
	if diff := cmp.Diff([]string{"child.stopped <- vm.died"}, logged(t, p, after, "worker-1", "child.stopped")); diff != "" {
		t.Error(diff)
	}
	requireRow(t, p, "node/worker-1", "stopped")
}

// stuckGuest does not crash before the context ends.
type stuckGuest struct{ node.Guest }

func (stuckGuest) Crash(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// The context of a fault bounds a kill.
func TestKillEndsWithContext(t *testing.T) {
	p := withWorker(t, func(n ground.Node) node.Guest { return stuckGuest{kubelet(n)} })
	requireRow(t, p, "node/worker-1", "running")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.Kill(ctx, "node/worker-1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
