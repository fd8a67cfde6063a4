package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/boot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// far is a vCenter that is not ours: govmomi's simulator, stock.
func far(t *testing.T) *real.Options {
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
	config.VCenters[0].Name = "Far.Example"
	guests(t, config.VCenters[0])
	return &real.Options{Config: config, Nodes: []string{"*VM0", "*VM1"}, ControlPlane: []string{"*VM0"}}
}

// guests gives every VM a hostname, as its tools would.
func guests(t *testing.T, v vcenter.VCenter) {
	t.Helper()
	there(t, v, func(ctx context.Context, vim *vim25.Client) error {
		vms, err := find.NewFinder(vim).VirtualMachineList(ctx, "/...")
		for i, vm := range vms {
			var task *object.Task
			task, err = vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
				&types.OptionValue{Key: "SET.guest.hostName", Value: fmt.Sprintf("node-%d", i)},
				&types.OptionValue{Key: "SET.guest.toolsRunningStatus", Value: "guestToolsRunning"},
			}})
			if err == nil {
				err = task.Wait(ctx)
			}
			if err != nil {
				break
			}
		}
		return err
	})
}

// there does something at a vCenter that the sandbox has no part in.
func there(t *testing.T, v vcenter.VCenter, f func(context.Context, *vim25.Client) error) {
	t.Helper()
	c, err := v.Connect(t.Context(), vcenter.Options{UserAgent: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Do(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// inDir makes a sandbox in an instance directory, and takes it as far as the inventory watch; end is the end of it.
func inDir(t *testing.T, r *real.Options, dir *instance.Dir) (s *Sandbox, end func() error) {
	t.Helper()
	recording, err := r.Read(t.Context(), "mine")
	if err != nil {
		t.Fatal(err)
	}
	s = New(Options{
		Name: "test", Topology: recording.Topology, Real: r, Speed: 10, Dir: dir,
		Logger: slog.New(slog.DiscardHandler),
	})
	for i := range recording.Topology.Spec.VCenters {
		s.opts.Place.Addresses = append(s.opts.Place.Addresses, fmt.Sprintf("127.0.0.%d:0", i+1))
	}
	for _, start := range []func(context.Context) error{s.startVCenters, s.watchInventory, func(context.Context) error { return s.startFaults(catalogue.Kinds()) }} {
		if err := start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ended := false
	end = func() error {
		if ended {
			return nil
		}
		ended = true
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		for _, stop := range []func(context.Context) error{s.faults.End, s.faults.Close, s.inventory.Stop} {
			if err := stop(ctx); err != nil {
				return err
			}
		}
		return s.source.Stop(ctx)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return s, end
}

func instanceDir(t *testing.T) *instance.Dir {
	t.Helper()
	dir, err := instance.Create(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Remove(); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func powersOf(s *Sandbox) map[string]string {
	all := map[string]string{}
	for _, v := range s.world.VMs() {
		all[v.Name] = v.Power
	}
	return all
}

// TestRealVCenter looks at one, and finds that nothing can be written to it.
func TestRealVCenter(t *testing.T) {
	s, _ := inDir(t, far(t), instanceDir(t))
	roles := map[string]string{}
	var vm api.VM
	for _, v := range s.world.VMs() {
		if roles[v.Name] = v.Role; v.Role == "control-plane" {
			vm = v.VM
		}
	}
	if len(roles) != 3 || vm.Name == "" || strings.Contains(vm.VCenter, ".") {
		t.Errorf("%v, %+v", roles, vm)
	}
	rows := s.listing.Rows()
	if len(rows) != 1 || rows[0].User != "admin" || rows[0].Version == "" || rows[0].InstanceUUID == "" || rows[0].VMs != 3 || !rows[0].Watched {
		t.Errorf("rows %+v", rows)
	}
	conf, err := s.config.RenderFile()
	if err != nil || strings.Contains(string(conf), "s3cret") {
		t.Fatalf("%s, %v", conf, err)
	}
	read, err := config.Load("vsphere.conf", conf)
	if err != nil || len(read.VCenters) != 1 || read.VCenters[0].Server != "127.0.0.1" || !slices.Equal(read.VCenters[0].Datacenters, []string{"/DC0"}) {
		t.Errorf("%+v, %v", read, err)
	}
	before := powersOf(s)
	for _, action := range []api.VMAction{api.PowerOff, api.Suspend, api.Reset} {
		_, err := s.actions.VM(t.Context(), api.VMRequest{Action: action, VM: vm.Name, Confirmed: true})
		requireCode(t, string(action), err, "refused")
	}
	for _, action := range []api.VMAction{api.Destroy, api.Move} {
		_, err := s.actions.VM(t.Context(), api.VMRequest{Action: action, VM: vm.Name, Host: "h", Confirmed: true})
		requireCode(t, string(action), err, "unsupported")
	}
	inject := func(kind string, on api.Selector) error {
		_, err := s.faults.Inject(t.Context(), api.InjectRequest{Fault: kind, On: on, Confirmed: true})
		return err
	}
	requireCode(t, "fault on a VM", inject("vm.power-off", api.Selector{Names: []string{vm.Name}}), "refused")
	for _, kind := range []string{"vcenter.password-rotated", "vcenter.permission-missing", "vcenter.restart"} {
		requireCode(t, kind, inject(kind, api.Selector{Names: []string{vm.VCenter}}), "unsupported")
	}
	requireCode(t, "guest fault", inject("vm.slow-boot", api.Selector{Names: []string{vm.Name}}), "unsupported")
	if diff := cmp.Diff(before, powersOf(s)); diff != "" {
		t.Error(diff)
	}
	files, err := filepath.Glob(s.opts.Dir.Path() + ".writes*")
	if err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
	err = serve(t, s).Apply(t.Context(), api.ApplyRequest{}, func(api.ApplyLine) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "only a simulated vCenter") {
		t.Errorf("apply: %v", err)
	}
}

// TestRealSelection shows the chosen VMs and no others, also when these change.
func TestRealSelection(t *testing.T) {
	r := far(t)
	r.Selection = inventory.Selection{Names: []string{"*VM1"}}
	s, _ := inDir(t, r, instanceDir(t))
	only := func() {
		t.Helper()
		if vms := s.world.VMs(); len(vms) != 1 || !strings.HasSuffix(vms[0].Name, "VM1") || vms[0].Role != "worker" {
			t.Errorf("VMs %+v", vms)
		}
	}
	only()
	var other ref
	there(t, r.Config.VCenters[0], func(ctx context.Context, vim *vim25.Client) error {
		vms, err := find.NewFinder(vim).VirtualMachineList(ctx, "/...")
		for _, vm := range vms {
			var task *object.Task
			if task, err = vm.PowerOff(ctx); err == nil {
				err = task.Wait(ctx)
			}
			if err != nil {
				break
			}
			other = vm.Reference()
		}
		return err
	})
	vm := s.world.VMs()[0]
	requireVM(t, s, vm.VCenter+vm.Path, powerIs("off"))
	if _, ok := s.vcenters[0].Inventory.VM(other); ok && other != vm.Ref {
		t.Errorf("%v is somebody else's", other)
	}
	only()
}

// TestRealMachine follows a VM that another client powers off and on: what its kubelet sees.
func TestRealMachine(t *testing.T) {
	r := far(t)
	s, _ := inDir(t, r, instanceDir(t))
	vm := s.world.VMs()[0]
	if m := vm.NodeVM(); !m.GuestUp || m.Hostname == "" || m.UUID == "" || m.CPUs == 0 || m.MemoryBytes == 0 || m.Power != "on" {
		t.Errorf("machine %+v", m)
	}
	power := func(f func(*object.VirtualMachine, context.Context) (*object.Task, error)) {
		there(t, r.Config.VCenters[0], func(ctx context.Context, vim *vim25.Client) error {
			task, err := f(object.NewVirtualMachine(vim, vm.Ref), ctx)
			if err == nil {
				err = task.Wait(ctx)
			}
			return err
		})
	}
	power((*object.VirtualMachine).PowerOff)
	requireVM(t, s, vm.VCenter+vm.Path, powerIs("off"))
	power((*object.VirtualMachine).PowerOn)
	requireVM(t, s, vm.VCenter+vm.Path, powerIs("on"))
	if now, ok := s.vcenters[0].Inventory.VM(vm.Ref); !ok || !now.NodeVM().GuestUp {
		t.Errorf("machine %+v", now.NodeVM())
	}
}

// TestRealFaults breaks the API of a real vCenter for clients.
func TestRealFaults(t *testing.T) {
	s, _ := inDir(t, far(t), instanceDir(t))
	vc := s.vcenters[0]
	for _, kind := range []string{"vcenter.unavailable", "vcenter.latency", "cns.down", "vcenter.sessions-expiring", "vcenter.certificate-expired", "vcenter.down"} {
		l, err := s.faults.Inject(t.Context(), api.InjectRequest{Fault: kind, On: api.Selector{Names: []string{vc.Name()}}})
		if err != nil || l.State != "active" {
			t.Errorf("%s: %+v, %v", kind, l, err)
			continue
		}
		if _, err := s.faults.Heal(t.Context(), api.HealRequest{IDs: []string{l.ID}}); err != nil {
			t.Errorf("%s: heal: %v", kind, err)
		}
	}
	if _, err := s.actions.Gate(t.Context(), api.GateRequest{VCenter: vc.Name(), Mode: "down"}); err != nil {
		t.Fatal(err)
	}
	if row := s.listing.Rows()[0]; row.Gate != string(gate.Down) || !row.Watched {
		t.Errorf("row %+v", row)
	}
	requireKind(t, s, "gate.down")
	if err := s.tags.Read(t.Context(), vc); err != nil {
		t.Errorf("the sandbox itself: %v", err)
	}
}

func requireKind(t *testing.T, s *Sandbox, kind string) {
	t.Helper()
	events, _ := s.log.Read(0, 0)
	for _, e := range events {
		if e.Kind == kind {
			return
		}
	}
	t.Errorf("no event %s in %+v", kind, events)
}

// TestRealWrites writes where it may, and finds it as it was after the end.
func TestRealWrites(t *testing.T) {
	r := far(t)
	r.Scope = scope.Scope{AllowWrites: true, Folders: []string{"/DC0/vm"}}
	dir := instanceDir(t)
	s, end := inDir(t, r, dir)
	before := powersOf(s)
	vms := s.world.VMs()
	first, second := vms[0], vms[1]
	_, err := s.actions.VM(t.Context(), api.VMRequest{Action: api.PowerOff, VM: first.Name})
	requireCode(t, "without a confirmation", err, "unconfirmed")
	_, err = s.faults.Inject(t.Context(), api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Names: []string{second.Name}}})
	requireCode(t, "fault without a confirmation", err, "unconfirmed")
	if _, err := s.actions.VM(t.Context(), api.VMRequest{Action: api.PowerOff, VM: first.Name, Confirmed: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.faults.Inject(t.Context(), api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Names: []string{second.Name}}, Confirmed: true}); err != nil {
		t.Fatal(err)
	}
	requireVM(t, s, first.VCenter+first.Path, powerIs("off"))
	requireVM(t, s, second.VCenter+second.Path, powerIs("off"))
	requireKind(t, s, "vcenter.written")
	if _, err := real.LeftWrites(dir.Path()); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("read while it runs: %v", err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if left, err := real.LeftWrites(dir.Path()); err != nil || left != nil {
		t.Errorf("left %+v, %v", left, err)
	}
	again, _ := inDir(t, r, dir)
	if diff := cmp.Diff(before, powersOf(again)); diff != "" {
		t.Error(diff)
	}
}

// TestRealIsSlow gives a boot step the time that a vCenter takes which needs half a minute for each answer.
func TestRealIsSlow(t *testing.T) {
	s := New(Options{Topology: idle(t).opts.Topology, Real: far(t)})
	if got := s.boot.Timeout; got < 20*30*time.Second {
		t.Errorf("%s", got)
	}
	simulated := idle(t)
	if got := simulated.boot.Timeout; got != boot.StepTimeout {
		t.Errorf("simulated: %s", got)
	}
}

// TestRealWithZones looks at vCenters with regions and zones: what was read of them has each VM where its tags say.
func TestRealWithZones(t *testing.T) {
	lab := sim.Start(t, "../../scenarios/zones-us-eu.yaml")
	config, err := vcenter.LoadFile(lab.CloudConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	r := &real.Options{Config: config, Selection: inventory.Selection{Names: []string{"worker-*"}}}
	recording, err := r.Read(t.Context(), "mine")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, n := range recording.Topology.Nodes() {
		p := recording.Topology.Place(n)
		want[n.VCenter.Name+n.InventoryPath()] = p.Region + "/" + p.Zone
	}
	s, _ := inDir(t, r, instanceDir(t))
	got := map[string]string{}
	for _, v := range s.world.VMs() {
		got[v.VCenter+v.Path] = v.Region + "/" + v.Zone
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 4 {
		t.Errorf("zones (-read +watched): %s", diff)
	}
	conf, err := s.config.RenderFile()
	if err != nil || !strings.Contains(string(conf), "region: k8s-region") {
		t.Errorf("%s, %v", conf, err)
	}
}
