package real

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// remote returns options for govmomi's stock simulator, which stands for a real vCenter.
func remote(t *testing.T) *Options {
	t.Helper()
	server, err := stocksim.Serve(stocksim.Options{User: "admin", Password: "s3cret & more", VMs: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Remove)
	config, err := vcenter.FromEnvironment([]string{
		"GOVC_URL=" + server.URL().Host, "GOVC_USERNAME=admin", "GOVC_PASSWORD=s3cret & more", "GOVC_INSECURE=true",
	})
	if err != nil {
		t.Fatal(err)
	}
	return &Options{Config: config}
}

// writable is [remote] with all its VMs in the scope.
func writable(t *testing.T) *Options {
	o := remote(t)
	o.Scope = scope.Scope{AllowWrites: true, Folders: []string{"/DC0/vm"}}
	return o
}

// rig is a started source.
type rig struct {
	t *testing.T
	*Source
	log    *event.Log
	detail func()
}

func begin(t *testing.T, o *Options, dir string, top *topology.Topology) (*rig, error) {
	t.Helper()
	ca, err := cert.NewCA("test")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, Source: New(o), log: event.NewLog(0), detail: func() {}}
	_, err = r.Start(t.Context(), vcenters.Boot{
		Name: "test", Dir: dir, Topology: top, Speed: 10, CA: ca, Log: r.log, Logger: slog.New(slog.DiscardHandler),
		Place: loopback.Place{Addresses: []string{"127.0.0.1:0"}},
		Names: func(string) []string { return nil }, AddSecret: func(...string) error { return nil }, Session: func(string) {},
		Inventory: func(vcenter string) *world.Inventory {
			return world.NewInventory(vcenter, func(*world.Inventory, []world.VM) {})
		},
		Detail: func(string) { r.detail() },
	})
	if err != nil {
		return r, err
	}
	for _, vc := range r.list {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = vc.Client.Run(ctx) // returns nil
		}()
		t.Cleanup(func() { cancel(); <-ended })
		for vc.Client.State().Err == nil && vc.Client.Do(ctx, func(context.Context, *client.Session) error { return nil }) != nil {
			time.Sleep(5 * time.Millisecond)
		}
	}
	return r, nil
}

// start is begin for a source that must start.
func start(t *testing.T, o *Options, dir string) *rig {
	t.Helper()
	recording, err := o.Read(t.Context(), "mine")
	if err != nil {
		t.Fatal(err)
	}
	r, err := begin(t, o, dir, recording.Topology)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// do calls f with the VMs, sorted by name, through the front.
func (r *rig) do(f func(context.Context, []*object.VirtualMachine) error) {
	r.t.Helper()
	err := r.list[0].Client.Do(r.t.Context(), func(ctx context.Context, s *client.Session) error {
		vms, err := find.NewFinder(s.Vim).VirtualMachineList(ctx, "/...")
		if err != nil {
			return err
		}
		return f(ctx, vms)
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// task calls a method of the VM with that index and waits for its task.
func (r *rig) task(vm int, method func(*object.VirtualMachine, context.Context) (*object.Task, error)) {
	r.t.Helper()
	r.do(func(ctx context.Context, vms []*object.VirtualMachine) error {
		task, err := method(vms[vm], ctx)
		if err != nil {
			return err
		}
		return task.Wait(ctx)
	})
}

// powers returns the power states, by VM.
func (r *rig) powers() map[string]string {
	r.t.Helper()
	all := map[string]string{}
	r.do(func(ctx context.Context, vms []*object.VirtualMachine) error {
		for _, vm := range vms {
			state, err := vm.PowerState(ctx)
			if err != nil {
				return err
			}
			all[vm.Name()] = string(state)
		}
		return nil
	})
	return all
}

func (r *rig) stop() {
	r.t.Helper()
	if err := r.Stop(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// die stops as a process that is killed: nothing is reverted.
func (r *rig) die() {
	r.t.Helper()
	if err := r.journal.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.journal = nil
	r.stop()
}

func (r *rig) requireKind(kind string) {
	r.t.Helper()
	events, _ := r.log.Read(0, 0)
	for _, e := range events {
		if e.Kind == kind {
			return
		}
	}
	r.t.Errorf("no event %s in %+v", kind, events)
}

func instancePath(t *testing.T) string { return filepath.Join(t.TempDir(), "test") }

// What a sandbox has left that crashed is reverted by hand, and by the next one.
func TestRevertAfterCrash(t *testing.T) {
	o, dir := writable(t), instancePath(t)
	var before map[string]string
	crash := func() {
		r := start(t, o, dir)
		before = r.powers()
		r.task(0, (*object.VirtualMachine).Suspend)
		r.requireKind("vcenter.written")
		r.die()
	}
	crash()
	left, err := LeftWrites(dir)
	if err != nil || left == nil || len(left.Pending) != 1 || !strings.HasSuffix(left.Describe(left.Pending[0]), ": powered on") || left.Scope.Folders[0] != "/DC0/vm" {
		t.Fatalf("left %+v, %v", left, err)
	}
	for _, name := range []string{journalFile(dir), settingsFile(dir)} {
		text, err := os.ReadFile(name)
		if err != nil || strings.Contains(string(text), "s3cret") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if all, err := Unreverted(filepath.Dir(dir)); err != nil || all["test"] != 1 {
		t.Errorf("unreverted %v, %v", all, err)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if err := left.Revert(interrupted, o.Config); err == nil || len(left.Pending) != 1 {
		t.Errorf("interrupted: %v, %+v", err, left)
	}
	readOnly := *o
	readOnly.Scope = scope.Scope{}
	if _, err := begin(t, &readOnly, dir, &topology.Topology{}); err == nil || !strings.Contains(err.Error(), "vsphere-sandbox down --name test") {
		t.Errorf("read-only over what was left: %v", err)
	}
	if err := left.Revert(t.Context(), o.Config); err != nil || len(left.Pending) != 0 {
		t.Fatalf("%v, %+v", err, left)
	}
	crash()
	next := start(t, o, dir)
	next.requireKind("vcenter.reverted")
	if diff := cmp.Diff(before, next.powers()); diff != "" {
		t.Error(diff)
	}
	next.stop()
}

// A write that arrived during the revert would stay: the front is closed before.
func TestClosedBeforeRevert(t *testing.T) {
	o, dir := writable(t), instancePath(t)
	r := start(t, o, dir)
	before := r.powers()
	r.task(0, (*object.VirtualMachine).PowerOff)
	front, reverts := r.fronts[0], 0
	r.detail = func() { // is called before the revert
		reverts++
		if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", front.Addr()); err == nil {
			t.Error("clients can still connect")
			_ = conn.Close()
		}
		if conn, err := front.DialConsole(t.Context()); err == nil {
			t.Error("the sandbox can still connect")
			_ = conn.Close()
		}
	}
	if r.stop(); reverts == 0 {
		t.Fatal("nothing was reverted")
	}
	next := start(t, o, dir)
	if diff := cmp.Diff(before, next.powers()); diff != "" {
		t.Error(diff)
	}
	next.stop()
}

// --keep-writes keeps the writes of this sandbox, not those of an earlier one that cannot be reverted now.
func TestKeepAfterAnother(t *testing.T) {
	o, dir := writable(t), instancePath(t)
	r := start(t, o, dir)
	r.task(0, (*object.VirtualMachine).PowerOff)
	r.die()
	elsewhere := *o
	elsewhere.Scope.Folders, elsewhere.Keep = []string{"/DC0/vm/elsewhere"}, true
	next, err := begin(t, &elsewhere, dir, r.boot.Topology)
	if err == nil || !strings.Contains(err.Error(), "take back") {
		t.Errorf("started: %v", err)
	}
	if err := next.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "not taken back") {
		t.Errorf("stopped: %v", err)
	}
	if left, err := LeftWrites(dir); err != nil || left == nil || len(left.Pending) != 1 || left.Keep {
		t.Errorf("left %+v, %v", left, err)
	}
}

// --keep-writes leaves what was written, also after a crash: the next sandbox of the name does not revert it.
func TestKeep(t *testing.T) {
	o, dir := writable(t), instancePath(t)
	o.Keep = true
	r := start(t, o, dir)
	err := r.AllowVM(world.VM{VM: api.VM{Datacenter: "DC0", Path: "/DC0/vm/a", Name: "a"}}, api.VMRequest{Action: api.PowerOff})
	if err == nil || !strings.Contains(err.Error(), "it stays so") {
		t.Errorf("without a confirmation: %v", err)
	}
	r.task(0, (*object.VirtualMachine).PowerOff)
	if left, err := Unreverted(filepath.Dir(dir)); err != nil || len(left) > 0 {
		t.Errorf("to be reverted: %v, %v", left, err)
	}
	r.die()
	if left, err := LeftWrites(dir); err != nil || left == nil || !left.Keep {
		t.Errorf("left %+v, %v", left, err)
	}
	reverting := *o
	reverting.Keep = false
	next := start(t, &reverting, dir)
	next.requireKind("vcenter.kept")
	off := 0
	for _, power := range next.powers() {
		if power == "poweredOff" {
			off++
		}
	}
	if off != 1 {
		t.Errorf("%d VMs are off", off)
	}
	next.stop()
	third := start(t, o, dir)
	third.task(1, (*object.VirtualMachine).PowerOff)
	third.stop()
	third.requireKind("vcenter.kept")
	if files, err := filepath.Glob(dir + ".writes*"); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

// Read reports what is wrong before there is a sandbox.
func TestReadRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"unknown authority", func(o *Options) { o.Config.VCenters[0].Insecure = false }, "SHA-256"},
		{"nothing there", func(o *Options) { o.Selection = inventory.Selection{Folders: []string{"k8s"}} }, "not found"},
		{"writes nowhere", func(o *Options) { o.Scope.AllowWrites = true }, "name a folder or a tag"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := remote(t)
			tc.change(o)
			if _, err := o.Read(t.Context(), "mine"); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}
