package guest_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

func renamed(to string) func(guest.Report) guest.Report {
	return func(r guest.Report) guest.Report {
		r.HostName = to
		return r
	}
}

// TestOverride: several overrides are in force together, regardless of the VM's power, and leave nothing behind.
func TestOverride(t *testing.T) {
	for _, off := range []stock.Set{nil, {stock.GuestInfo}} {
		r := setup(t, guest.Options{Stock: off}, nil)
		ref, name := r.vms[0].Reference(), r.look(0).Name
		now := func() string { return r.look(0).Guest.HostName }
		for step, want := range map[string]string{"a": "one", "b": "two"} {
			if err := r.guests.Override(ref, step, renamed(want)); err != nil || now() != want {
				t.Errorf("%s: %q, %v", step, now(), err)
			}
		}
		r.guests.Release(ref, "nobody's")
		if err := r.guests.Override(ref, "b", renamed("three")); err != nil {
			t.Fatal(err)
		}
		r.guests.Release(ref, "a")
		if now() != "three" {
			t.Errorf("reports %q", now())
		}
		r.guests.Release(ref, "b")
		r.guests.Release(ref, "b")
		if now() != name {
			t.Errorf("released, reports %q", now())
		}
	}
}

// TestOverrideLearnsNothing: what is reported under an override is not what the guest is.
func TestOverrideLearnsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, guest.Options{BootDelay: 10 * time.Second, AddressDelay: 10 * time.Second}, nil)
		ref, vm, name := r.vms[0].Reference(), r.vms[0], r.look(0).Name
		if err := r.guests.Override(ref, "x", func(guest.Report) guest.Report { return guest.Report{} }); err != nil {
			t.Fatal(err)
		}
		done(t)(vm.PowerOff(t.Context()))
		done(t)(vm.PowerOn(t.Context()))
		for range 3 {
			if g := r.look(0).Guest; g.HostName != "" || g.ToolsRunningStatus != "guestToolsNotRunning" {
				t.Errorf("reports %q, tools %s", g.HostName, g.ToolsRunningStatus)
			}
			time.Sleep(11 * time.Second)
			synctest.Wait()
		}
		if info, ok := r.guests.Info(ref); !ok || info.HostName != name {
			t.Errorf("is %+v", info)
		}
		r.guests.Release(ref, "x")
		if g := r.look(0).Guest; g.HostName != name || g.IpAddress != "198.18.0.10" || len(g.Net) == 0 {
			t.Errorf("released: %+v", g)
		}
	})
}

// TestSlow: boots take longer, and as long as usual again.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, guest.Options{BootDelay: 10 * time.Second}, nil)
		ref, vm := r.vms[0].Reference(), r.vms[0]
		if err := r.guests.Slow(ref, "x", time.Hour); err != nil {
			t.Fatal(err)
		}
		done(t)(vm.PowerOff(t.Context()))
		done(t)(vm.PowerOn(t.Context()))
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if r.look(0).Guest.HostName != "" {
			t.Error("is up")
		}
		r.guests.Release(ref, "x")
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if r.look(0).Guest.HostName == "" {
			t.Error("is not up")
		}
	})
}

// TestLend: no two guests get the same address, and it is free again afterward.
func TestLend(t *testing.T) {
	r := setup(t, guest.Options{}, nil)
	one, two := r.vms[0].Reference(), r.vms[1].Reference()
	first, second := r.guests.ReserveAddresses(one, "x"), r.guests.ReserveAddresses(two, "x")
	addr := netip.MustParseAddr
	if diff := cmp.Diff(addr("198.18.0.12"), first[addr("198.18.0.10")], cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if second[addr("198.18.0.11")] != addr("198.18.0.13") {
		t.Errorf("lent %v and %v", first, second)
	}
	r.guests.Release(one, "x")
	if again := r.guests.ReserveAddresses(two, "y"); again[addr("198.18.0.11")] != addr("198.18.0.12") {
		t.Errorf("lent %v after a release", again)
	}
	done(t)(r.vms[1].PowerOff(t.Context()))
	done(t)(r.vms[1].Destroy(t.Context()))
	if again := r.guests.ReserveAddresses(one, "x"); again[addr("198.18.0.10")] != addr("198.18.0.11") {
		t.Errorf("lent %v after the other VM was destroyed", again)
	}
	if len(r.guests.ReserveAddresses(two, "x")) != 0 {
		t.Error("a VM that is gone was lent addresses")
	}
}

// TestKeep: a VM is made another.
func TestKeep(t *testing.T) {
	r := setup(t, guest.Options{}, nil)
	one, two := r.vms[0].Reference(), r.vms[1].Reference()
	if err := r.guests.SaveVM(one, "x"); err != nil || !r.guests.HasSavedVM("x") {
		t.Fatal(err)
	}
	done(t)(r.vms[1].PowerOff(t.Context()))
	if err := r.guests.RestoreVM(two, "x", "", "other"); err != nil {
		t.Fatal(err)
	}
	done(t)(r.vms[1].PowerOn(t.Context()))
	was, now := r.look(0), r.look(1)
	if now.Config.Uuid != was.Config.Uuid || now.Config.InstanceUuid != "other" || now.Name == was.Name || now.Config.Files == was.Config.Files {
		t.Errorf("is %s %s %s", now.Name, now.Config.Uuid, now.Config.InstanceUuid)
	}
	r.guests.DeleteSavedVM("x")
	if err := r.guests.RestoreVM(two, "x", "", ""); err == nil || r.guests.HasSavedVM("x") {
		t.Error("what was forgotten is known")
	}
	gone := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-0"}
	if r.guests.SaveVM(gone, "y") == nil || r.guests.Override(gone, "y", renamed("")) == nil || r.guests.SetGuest(gone, guest.Info{}) == nil {
		t.Error("a VM that is not there was changed")
	}
}

// TestBecome: an empty VM gets a guest while it runs.
func TestBecome(t *testing.T) {
	r := setup(t, guest.Options{}, func(i int, info *guest.Info) {
		if i == 0 {
			*info = guest.Info{}
		}
	})
	if err := r.guests.SetGuest(r.vms[0].Reference(), guest.Info{HostName: "new"}); err != nil {
		t.Fatal(err)
	}
	for after := uint64(0); r.look(0).Guest.HostName != "new"; {
		events, _, err := r.log.Wait(t.Context(), after, 0)
		if err != nil {
			t.Fatal(err)
		}
		after = events[len(events)-1].Seq
	}
	if err := r.guests.SetGuest(r.vms[0].Reference(), guest.Info{HostName: "newer"}); err != nil {
		t.Fatal(err)
	}
	if got := r.look(0).Guest.HostName; got != "newer" {
		t.Errorf("reports %q", got)
	}
}
