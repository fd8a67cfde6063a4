package guest_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// rig is a plain vcsim with two VMs that are on, our guests in them, and a client without a network.
type rig struct {
	t      testing.TB
	base   *simulator.Context
	client *vim25.Client
	guests *guest.Guests
	log    *event.Log
	vms    []*object.VirtualMachine
}

func setup(t testing.TB, opts guest.Options, change func(int, *guest.Info)) *rig {
	t.Helper()
	m := simulator.VPX()
	m.Host, m.Cluster, m.Machine = 1, 0, 2
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	r := &rig{t: t, base: m.Service.Context, log: event.NewLog(0)}
	c, err := vim25.NewClient(t.Context(), m.Service)
	if err != nil {
		t.Fatal(err)
	}
	r.client = c
	all := r.base.Map.All("VirtualMachine")
	slices.SortFunc(all, func(a, b mo.Entity) int { return strings.Compare(a.Entity().Name, b.Entity().Name) })
	infos := map[vc.Ref]guest.Info{}
	for i, e := range all {
		vm := e.(*simulator.VirtualMachine)
		info := guest.Info{HostName: vm.Name, Addresses: map[string][]netip.Prefix{}}
		for _, d := range vm.Config.Hardware.Device {
			if c, ok := d.(types.BaseVirtualEthernetCard); ok {
				a := netip.AddrFrom4([4]byte{198, 18, 0, byte(10 + i)})
				info.Addresses[c.GetVirtualEthernetCard().MacAddress] = []netip.Prefix{netip.PrefixFrom(a, 24)}
			}
		}
		if change != nil {
			change(i, &info)
		}
		infos[vm.Self] = info
		r.vms = append(r.vms, object.NewVirtualMachine(c, vm.Self))
	}
	opts.VCenter, opts.Events = "vc", r.log
	r.guests = guest.Start(r.base, infos, opts)
	t.Cleanup(r.guests.Close)
	r.base.Map.Handler = func(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		r.guests.Redirect(ctx, m)
		return nil, nil
	}
	return r
}

// look reads what a VM is now.
func (r *rig) look(i int) (m mo.VirtualMachine) {
	obj := r.base.Map.Get(r.vms[i].Reference()).(*simulator.VirtualMachine)
	vc.Fresh(r.base).WithLock(obj, func() {
		m = obj.VirtualMachine
		g := *obj.Guest
		m.Guest = &g
	})
	return m
}

// kinds lists the kinds of events of a VM after seq.
func (r *rig) kinds(vm string, after uint64) (kinds []string) {
	events, _ := r.log.Read(after, 0)
	for _, e := range events {
		if e.Object.Name == vm {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

func done(t testing.TB) func(*object.Task, error) {
	t.Helper()
	return func(task *object.Task, err error) {
		t.Helper()
		if err == nil {
			err = task.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestBootInSteps: on, then tools, then addresses; asked to shut down, then off.
func TestBootInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, guest.Options{BootDelay: 20 * time.Second, AddressDelay: 10 * time.Second, ShutdownDelay: 5 * time.Second}, nil)
		vm := r.vms[0]
		name := r.look(0).Name
		state := func() string {
			m := r.look(0)
			return strings.Join([]string{string(m.Runtime.PowerState), m.Guest.ToolsRunningStatus, m.Guest.GuestState, m.Guest.HostName, m.Guest.IpAddress}, " ")
		}
		expect := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := state(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		up := "poweredOn guestToolsRunning running " + name + " 198.18.0.10"
		expect(0, up)
		if err := vm.ShutdownGuest(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(4*time.Second, "poweredOn guestToolsRunning shuttingDown "+name+" 198.18.0.10")
		expect(2*time.Second, "poweredOff guestToolsNotRunning notRunning  ")
		after := r.log.Last()
		done(t)(vm.PowerOn(t.Context()))
		expect(19*time.Second, "poweredOn guestToolsNotRunning notRunning  ")
		expect(2*time.Second, "poweredOn guestToolsRunning running  ")
		expect(10*time.Second, up)
		if diff := cmp.Diff([]string{"vm.powered-on", "guest.tools", "guest.up"}, r.kinds(name, after)); diff != "" {
			t.Errorf("events -want +got:\n%s", diff)
		}

		if err := vm.StandbyGuest(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(6*time.Second, "suspended guestToolsNotRunning notRunning  ")
		done(t)(vm.PowerOn(t.Context()))
		expect(11*time.Second, up)

		// A power-off overtakes a shutdown.
		if err := vm.ShutdownGuest(t.Context()); err != nil {
			t.Fatal(err)
		}
		done(t)(vm.PowerOff(t.Context()))
		done(t)(vm.PowerOn(t.Context()))
		expect(time.Minute, up)
		for _, want := range []string{"guest.shutting-down", "guest.suspending"} {
			if !slices.Contains(r.kinds(name, 0), want) {
				t.Errorf("no %s", want)
			}
		}
	})
}

// TestGuestWithoutTools reports nothing, and nothing can be asked of it.
func TestGuestWithoutTools(t *testing.T) {
	r := setup(t, guest.Options{}, func(_ int, i *guest.Info) { i.NoTools = true })
	vm := r.vms[0]
	for range 2 {
		if m := r.look(0); m.Guest.ToolsRunningStatus != "guestToolsNotRunning" || m.Guest.HostName != "" || m.Guest.IpAddress != "" {
			t.Errorf("%+v", m.Guest)
		}
		if err := vm.ShutdownGuest(t.Context()); !fault.Is(err, new(types.ToolsUnavailable)) {
			t.Errorf("shutdown: %v", err)
		}
		if err := vm.StandbyGuest(t.Context()); !fault.Is(err, new(types.ToolsUnavailable)) {
			t.Errorf("standby: %v", err)
		}
		done(t)(vm.PowerOff(t.Context()))
		if err := vm.ShutdownGuest(t.Context()); !fault.Is(err, new(types.InvalidPowerState)) {
			t.Errorf("shutdown of a VM that is off: %v", err)
		}
		done(t)(vm.PowerOn(t.Context()))
	}
	if r.guests.Renew(vm.Reference()) {
		t.Error("it has another address")
	}
}

// TestTemplateHasNoGuest: a template has no guest, even if the builder gives it one.
func TestTemplateHasNoGuest(t *testing.T) {
	m := simulator.VPX()
	m.Host, m.Cluster, m.Machine, m.Autostart = 1, 0, 1, false
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	base := m.Service.Context
	vm := base.Map.Any("VirtualMachine").(*simulator.VirtualMachine)
	vm.Config.Template = true
	g := guest.Start(base, map[vc.Ref]guest.Info{vm.Self: {HostName: "template"}}, guest.Options{})
	defer g.Close()
	if s := vm.Guest.ToolsStatus; s != types.VirtualMachineToolsStatusToolsNotInstalled || vm.Guest.HostName != "" {
		t.Errorf("%s %q", s, vm.Guest.HostName)
	}
}

// TestStockGuests are what vcsim makes of them.
func TestStockGuests(t *testing.T) {
	r := setup(t, guest.Options{Stock: stock.Set{stock.GuestInfo}}, nil)
	name := r.look(0).Name
	done(t)(r.vms[0].PowerOff(t.Context()))
	if m := r.look(0); m.Guest.IpAddress != "198.18.0.10" || m.Guest.ToolsRunningStatus != "guestToolsRunning" {
		t.Errorf("off: %+v", m.Guest)
	}
	if diff := cmp.Diff([]string{"vm.powered-off"}, r.kinds(name, 0)); diff != "" {
		t.Errorf("events -want +got:\n%s", diff)
	}
}

// TestUnregister leaves files, and says so.
func TestUnregister(t *testing.T) {
	r := setup(t, guest.Options{}, nil)
	names := []string{r.look(0).Name, r.look(1).Name}
	if err := r.vms[0].Unregister(t.Context()); err == nil {
		t.Error("a VM that is on was unregistered")
	}
	for _, vm := range r.vms {
		done(t)(vm.PowerOff(t.Context()))
	}
	after := r.log.Last()
	if err := r.vms[0].Unregister(t.Context()); err != nil {
		t.Fatal(err)
	}
	done(t)(r.vms[1].Destroy(t.Context()))
	got := [][]string{r.kinds(names[0], after), r.kinds(names[1], after)}
	if diff := cmp.Diff([][]string{{"vm.unregistered"}, {"vm.destroyed"}}, got); diff != "" {
		t.Errorf("events -want +got:\n%s", diff)
	}
	if err := r.vms[0].Unregister(t.Context()); err == nil {
		t.Error("it was unregistered twice")
	}
}

// TestCausing: two VMs of one name have different causes, or one that names both.
func TestCausing(t *testing.T) {
	r := setup(t, guest.Options{}, nil)
	name := r.look(0).Name
	vc.Set(vc.Fresh(r.base), r.vms[1].Reference(), vc.P("name", name)) // vcsim refuses it within a folder
	causes := func(f func()) (got []uint64) {
		after := r.log.Last()
		f()
		events, _ := r.log.Read(after, 0)
		for _, e := range events {
			if e.Kind == "vm.powered-off" || e.Kind == "vm.powered-on" {
				got = append(got, e.Cause)
			}
		}
		return got
	}
	release := r.guests.CausingRef(r.vms[0].Reference(), 101)
	got := causes(func() {
		done(t)(r.vms[0].PowerOff(t.Context()))
		done(t)(r.vms[1].PowerOff(t.Context()))
	})
	release()
	if diff := cmp.Diff([]uint64{101, 0}, got); diff != "" {
		t.Errorf("by reference -want +got:\n%s", diff)
	}
	release = r.guests.Causing(name, 102)
	later := r.guests.CausingRef(r.vms[1].Reference(), 103)
	got = causes(func() {
		done(t)(r.vms[0].PowerOn(t.Context()))
		done(t)(r.vms[1].PowerOn(t.Context()))
	})
	release()
	if diff := cmp.Diff([]uint64{102, 103}, got); diff != "" {
		t.Errorf("by name -want +got:\n%s", diff)
	}
	got = causes(func() { done(t)(r.vms[1].PowerOff(t.Context())) })
	later()
	if diff := cmp.Diff([]uint64{103}, got); diff != "" {
		t.Errorf("the later one -want +got:\n%s", diff)
	}
}

// TestGuestOfAHostThatCannotBeSeen is not seen to boot until it can.
func TestGuestOfAHostThatCannotBeSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, guest.Options{BootDelay: 10 * time.Second}, nil)
		done(t)(r.vms[0].Reset(t.Context()))
		ref := r.vms[0].Reference()
		done(t)(r.vms[0].PowerOff(t.Context()))
		done(t)(r.vms[0].PowerOn(t.Context()))
		vc.Set(vc.Fresh(r.base), ref, vc.P("runtime.connectionState", types.VirtualMachineConnectionStateDisconnected))
		time.Sleep(time.Minute)
		synctest.Wait()
		if m := r.look(0); m.Guest.IpAddress != "" {
			t.Errorf("%+v", m.Guest)
		}
		vc.Set(vc.Fresh(r.base), ref, vc.P("runtime.connectionState", types.VirtualMachineConnectionStateConnected))
		synctest.Wait()
		if m := r.look(0); m.Guest.IpAddress != "198.18.0.10" {
			t.Errorf("%+v", m.Guest)
		}
	})
}

func TestRenew(t *testing.T) {
	r := setup(t, guest.Options{}, nil)
	if !r.guests.Renew(r.vms[0].Reference()) {
		t.Fatal("not renewed")
	}
	m := r.look(0)
	if m.Guest.IpAddress != "198.18.0.12" || m.Guest.Net[0].IpConfig.IpAddress[0].PrefixLength != 24 { // .11 is the other's
		t.Errorf("%+v", m.Guest)
	}
	if diff := cmp.Diff([]string{"guest.readdressed"}, r.kinds(m.Name, 0)); diff != "" {
		t.Errorf("events -want +got:\n%s", diff)
	}
	if r.guests.Renew(vc.Ref{Type: "VirtualMachine", Value: "vm-0"}) {
		t.Error("a VM that does not exist has another address")
	}
}
