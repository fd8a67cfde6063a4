package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

var guestPaths = []string{"guest", "runtime", "summary", "guestHeartbeatStatus"}

// look reads the VM as it is now.
func look(t *testing.T, c *govmomi.Client, vm *object.VirtualMachine) mo.VirtualMachine {
	t.Helper()
	var m mo.VirtualMachine
	get(t, c, vm.Reference(), &m, guestPaths...)
	return m
}

func isUp(m mo.VirtualMachine) bool {
	return m.Guest.HostName == "cp-1.example.org" && m.Summary.Guest.HostName == m.Guest.HostName &&
		m.Guest.IpAddress == "198.18.5.1" && m.Summary.Guest.IpAddress == m.Guest.IpAddress && len(m.Guest.Net) == 2 &&
		m.Guest.ToolsRunningStatus == "guestToolsRunning" && m.Summary.Guest.ToolsRunningStatus == "guestToolsRunning" &&
		m.Guest.GuestState == "running" && m.GuestHeartbeatStatus == types.ManagedEntityStatusGreen
}

func isDown(m mo.VirtualMachine) bool {
	return m.Guest.HostName == "" && m.Summary.Guest.HostName == "" && m.Guest.IpAddress == "" && m.Summary.Guest.IpAddress == "" &&
		len(m.Guest.Net) == 0 && m.Guest.ToolsRunningStatus == "guestToolsNotRunning" &&
		m.Summary.Guest.ToolsRunningStatus == "guestToolsNotRunning" && m.Guest.GuestState == "notRunning" &&
		m.GuestHeartbeatStatus == types.ManagedEntityStatusGray
}

func TestGuestLife(t *testing.T) {
	const delay = 60 * time.Millisecond
	s := start(t, zones, func(o *sim.Options) { o.BootDelay = delay })
	c := s.login(t, s.vcenter(t, "vc-us"))
	cp := vm(t, c, "/americas/dcwest/vm/k8s/masters/cp-1")
	if m := look(t, c, cp); !isUp(m) {
		t.Fatalf("at the start: %+v", m.Guest)
	}
	firstBoot := *look(t, c, cp).Runtime.BootTime

	// Power-off clears everything in the same change: the first look after the task finds nothing.
	after := s.events.Last()
	must(t)(cp.PowerOff(t.Context()))
	m := look(t, c, cp)
	if !isDown(m) || m.Runtime.BootTime != nil || m.Summary.Runtime.BootTime != nil {
		t.Errorf("powered off: boot time %v, guest %+v", m.Runtime.BootTime, m.Guest)
	}
	chain(t, s.eventsOf(t, "cp-1", "guest.down", after), "vm.powered-off", "guest.down")

	// Power-on brings the VM at once and the guest later.
	after = s.events.Last()
	begin := time.Now()
	must(t)(cp.PowerOn(t.Context()))
	if m := look(t, c, cp); m.Runtime.BootTime == nil || !m.Runtime.BootTime.After(firstBoot) || (!isDown(m) && time.Since(begin) < delay) {
		t.Errorf("powered on: boot time %v, guest %+v", m.Runtime.BootTime, m.Guest)
	}
	await(t, c, cp.Reference(), guestPaths, isUp)
	if d := time.Since(begin); d < delay {
		t.Errorf("guest was up after %s", d)
	}
	chain(t, s.eventsOf(t, "cp-1", "guest.up", after), "vm.powered-on", "guest.up")

	// Suspend and resume: the guest goes, and comes back without booting.
	boot := *look(t, c, cp).Runtime.BootTime
	after = s.events.Last()
	must(t)(cp.Suspend(t.Context()))
	if m := look(t, c, cp); !isDown(m) || !m.Runtime.BootTime.Equal(boot) || !m.Summary.Runtime.BootTime.Equal(boot) {
		t.Errorf("suspended: boot time %v, guest %+v", m.Runtime.BootTime, m.Guest)
	}
	chain(t, s.eventsOf(t, "cp-1", "guest.down", after), "vm.suspended", "guest.down")
	after = s.events.Last()
	must(t)(cp.PowerOn(t.Context()))
	if m := await(t, c, cp.Reference(), guestPaths, isUp); !m.Runtime.BootTime.Equal(boot) {
		t.Errorf("boot time changed from %v to %v by a resume", boot, m.Runtime.BootTime)
	}
	chain(t, s.eventsOf(t, "cp-1", "guest.up", after), "vm.powered-on", "guest.up")

	// Reset: the power state stays, the boot time changes, the guest goes and comes.
	after = s.events.Last()
	must(t)(cp.Reset(t.Context()))
	if m := look(t, c, cp); m.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || !m.Runtime.BootTime.After(boot) {
		t.Errorf("reset: %s, boot time %v", m.Runtime.PowerState, m.Runtime.BootTime)
	}
	await(t, c, cp.Reference(), guestPaths, isUp)
	events := s.eventsOf(t, "cp-1", "guest.up", after)
	chain(t, events, "vm.reset", "guest.down", "guest.up")
	if events[2].Cause != events[0].Seq {
		t.Errorf("guest.up is caused by %d, want %d", events[2].Cause, events[0].Seq)
	}

	// The guest restarts within the VM: neither power nor boot time change.
	boot = *look(t, c, cp).Runtime.BootTime
	after = s.events.Last()
	if err := cp.RebootGuest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cp.RebootGuest(t.Context()); err == nil {
		t.Error("a guest without running tools was asked to reboot")
	}
	if m := await(t, c, cp.Reference(), guestPaths, isUp); !m.Runtime.BootTime.Equal(boot) {
		t.Errorf("boot time changed from %v to %v by a restart of the guest", boot, m.Runtime.BootTime)
	}
	chain(t, s.eventsOf(t, "cp-1", "guest.up", after), "guest.down", "guest.up")

	// Shut down from inside.
	if err := cp.ShutdownGuest(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, c, cp.Reference(), guestPaths, func(m mo.VirtualMachine) bool {
		return m.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff && isDown(m)
	})
	if err := finish(t)(cp.Reset(t.Context())); err == nil {
		t.Error("a VM that is off was reset")
	}
}

// chain checks the kinds of events, and that each but the first has a cause among those before it.
func chain(t *testing.T, events []event.Event, kinds ...string) {
	t.Helper()
	var got []string
	var seqs []uint64
	for i, e := range events {
		got = append(got, e.Kind)
		if i > 0 && !slices.Contains(seqs, e.Cause) {
			t.Errorf("%s has cause %d, of %v", e.Kind, e.Cause, seqs)
		}
		seqs = append(seqs, e.Seq)
		if e.Plane != event.PlaneVSphere || e.Object.Kind != "VM" || e.Object.VCenter != "vc-us" || e.Message == "" {
			t.Errorf("event %+v", e)
		}
	}
	if diff := cmp.Diff(kinds, got); diff != "" {
		t.Errorf("events -want +got:\n%s", diff)
	}
}

// TestPowerCycleBeforeTheGuestIsUp overtakes a boot.
func TestPowerCycleBeforeTheGuestIsUp(t *testing.T) {
	s := start(t, zones, func(o *sim.Options) { o.BootDelay = 100 * time.Millisecond })
	c := s.login(t, s.vcenter(t, "vc-us"))
	cp := vm(t, c, "/americas/dcwest/vm/k8s/masters/cp-1")
	after := s.events.Last()
	must(t)(cp.PowerOff(t.Context()))
	for range 3 {
		must(t)(cp.PowerOn(t.Context()))
		must(t)(cp.PowerOff(t.Context()))
	}
	must(t)(cp.PowerOn(t.Context()))
	events := s.eventsOf(t, "cp-1", "guest.up", after)
	var ups int
	for _, e := range events {
		if e.Kind == "guest.up" {
			ups++
		}
	}
	if last := events[len(events)-1]; ups != 1 || last.Cause != events[len(events)-2].Seq {
		t.Errorf("%d boots; the last has cause %d: %+v", ups, last.Cause, events)
	}
}

// TestWatcherNeverSeesAnAddressOnAVMThatIsOff is the invariant that clearing the guest within the power change keeps.
func TestWatcherNeverSeesAnAddressOnAVMThatIsOff(t *testing.T) {
	s := start(t, zones, func(o *sim.Options) { o.BootDelay = time.Millisecond })
	c := s.login(t, s.vcenter(t, "vc-us"))
	cp := vm(t, c, "/americas/dcwest/vm/k8s/masters/cp-1")
	operator := s.login(t, s.vcenter(t, "vc-us"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		power := object.NewVirtualMachine(operator.Client, cp.Reference())
		for range 10 {
			must(t)(power.PowerOff(t.Context()))
			must(t)(power.PowerOn(t.Context()))
		}
		must(t)(power.PowerOff(t.Context()))
		must(t)(power.Destroy(t.Context()))
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			var m []mo.VirtualMachine
			err := retrieve(t, c, cp.Reference(), &m, "runtime.powerState", "guest")
			if err != nil {
				break // destroyed
			}
			if m[0].Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn && m[0].Guest.IpAddress != "" {
				t.Errorf("%s at %s", m[0].Runtime.PowerState, m[0].Guest.IpAddress)
			}
		}
	}
}

// TestGuestOfAClient: what a client writes about a guest survives a power cycle; a VM without an operating system never
// reports anything.
func TestGuestOfAClient(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	folders, err := object.NewDatacenter(c.Client, ref(t, c, "/americas/dceast")).Folders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pool := object.NewResourcePool(c.Client, ref(t, c, "/americas/dceast/host/east-1/Resources"))
	host := object.NewHostSystem(c.Client, ref(t, c, "/americas/dceast/host/east-1/east-1"))
	after := s.events.Last()
	create, err := folders.VmFolder.CreateVM(t.Context(), types.VirtualMachineConfigSpec{
		Name: "made", GuestId: "otherLinux64Guest", Files: &types.VirtualMachineFileInfo{VmPathName: "[dceast-ds]"},
	}, pool, host)
	if err != nil {
		t.Fatal(err)
	}
	info, err := create.WaitForResult(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := object.NewVirtualMachine(c.Client, info.Result.(types.ManagedObjectReference))
	s.eventsOf(t, "made", "vm.created", after)

	must(t)(made.PowerOn(t.Context()))
	if m := look(t, c, made); m.Guest.ToolsRunningStatus == "guestToolsRunning" {
		t.Error("an empty VM runs tools")
	}
	must(t)(made.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
		&types.OptionValue{Key: "SET.guest.hostName", Value: "made.example.org"},
		&types.OptionValue{Key: "SET.guest.ipAddress", Value: "198.18.9.9"},
	}}))
	must(t)(made.PowerOff(t.Context()))
	if m := look(t, c, made); !isDown(m) {
		t.Errorf("off: %+v", m.Guest)
	}
	must(t)(made.PowerOn(t.Context()))
	await(t, c, made.Reference(), guestPaths, func(m mo.VirtualMachine) bool { return m.Guest.HostName == "made.example.org" })

	must(t)(made.PowerOff(t.Context()))
	after = s.events.Last()
	must(t)(made.Destroy(t.Context()))
	s.eventsOf(t, "made", "vm.destroyed", after)
}
