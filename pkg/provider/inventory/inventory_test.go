package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

const (
	w1UUID  = "42010a3b-1c2d-4e5f-8071-92a3b4c5d6e7"
	euUUID  = "42020a3b-1c2d-4e5f-8071-92a3b4c5d6e7"
	e1UUID  = "42030a3b-1c2d-4e5f-8071-92a3b4c5d6e7"
	eu2UUID = "42040a3b-1c2d-4e5f-8071-92a3b4c5d6e7"
	strange = "deadbeef-1c2d-4e5f-8071-92a3b4c5d6e7"
)

func TestLookups(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	u, ip := uuid(t, w1UUID), netip.MustParseAddr
	for _, tc := range []struct {
		name string
		got  inventory.Result
		want string // name of the VM, or empty
	}{
		{"uuid", w.ByUUID(u), "w1"},
		{"swapped uuid", w.ByUUID(u.Swapped()), "w1"},
		{"uuid in the other vCenter", w.ByUUID(uuid(t, euUUID)), "eu1"},
		{"uuid that is another's with the byte order swapped", w.ByUUID(uuid(t, eu2UUID)), "eu2"},
		{"the other way round", w.ByUUID(uuid(t, eu2UUID).Swapped()), "e2"},
		{"unknown uuid", w.ByUUID(uuid(t, strange)), ""},
		{"full hostname", w.ByHostName("w1.example.org"), "w1"},
		{"full hostname in upper case, with a final dot", w.ByHostName("W1.EXAMPLE.ORG."), "w1"},
		{"short name of a full one", w.ByHostName("w1"), "w1"},
		{"short name in upper case", w.ByHostName("W1"), "w1"},
		{"full name of a short one", w.ByHostName("eu1.example.org"), "eu1"},
		{"full name in another domain", w.ByHostName("w1.example.com"), ""},
		{"unknown name", w.ByHostName("nobody"), ""},
		{"empty name", w.ByHostName(""), ""},
		{"ipv4", w.ByIP(ip("198.18.5.1")), "w1"},
		{"ipv4 in ipv6", w.ByIP(ip("::ffff:198.18.5.1")), "w1"},
		{"ipv6", w.ByIP(ip("2001:db8::5")), "w1"},
		{"unknown ip", w.ByIP(ip("192.0.2.1")), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm, err := tc.got.One()
			if tc.want == "" {
				if !errors.Is(err, match.ErrNotFound) || tc.got.Doubt != nil {
					t.Errorf("got %v, %v, want none without doubt", vm, err)
				}
				return
			}
			if err != nil || vm.Name != tc.want {
				t.Errorf("got %v, %v, want %s", vm, err, tc.want)
			}
		})
	}
	vm, err := w.ByUUID(u).One()
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Datacenter(vm); got != "/americas/west" {
		t.Errorf("datacenter %q", got)
	}
	if vm.NumCPU != 2 || vm.MemoryMB != 4096 || vm.GuestID != "ubuntu64Guest" || vm.Power != "poweredOn" || vm.InstanceUUID == "" || vm.Template {
		t.Errorf("got %+v", vm)
	}
}

func TestZones(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	for host, want := range map[string]inventory.Zone{
		"w1":  {Region: "us", Zone: "us-west"},
		"w2":  {Region: "us", Zone: "us-west-2"}, // the cluster's tag, not the datacenter's
		"eu1": {Region: "eu", Zone: "eu-all"},
	} {
		vm, err := w.ByHostName(host).One()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.Zone(vm); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", host, got, err, want)
		}
	}
	vm, err := w.ByHostName("e1").One()
	if err != nil {
		t.Fatal(err)
	}
	var missing *inventory.MissingTagError
	if _, err := w.Zone(vm); !errors.As(err, &missing) || missing.Found.Region != "us" || !strings.Contains(err.Error(), `Datacenter "east"`) {
		t.Errorf("untagged: %v", err)
	}
}

// An unreachable vCenter does not affect lookups in another, and no VM is confirmed gone.
func TestOneVCenterDown(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	for _, state := range []gate.State{gate.Down, gate.Hung} {
		w.gate(t, "eu", state)
		eventually(t, "doubt about eu", func() error {
			if w.ByHostName("eu1").Doubt == nil {
				return errors.New("none")
			}
			return nil
		})
		began := time.Now()
		if vm, err := w.ByUUID(uuid(t, w1UUID)).One(); err != nil || vm.Name != "w1" {
			t.Errorf("%s: vm on the live vCenter: %v, %v", state, vm, err)
		}
		if _, err := w.ByUUID(uuid(t, euUUID)).One(); !errors.Is(err, vcenter.ErrNotConnected) && !errors.Is(err, inventory.ErrNotSynced) {
			t.Errorf("%s: vm on the dead vCenter: %v", state, err)
		}
		for _, id := range []string{euUUID, strange, w1UUID} {
			if err := w.ConfirmAbsent(t.Context(), uuid(t, id)); err == nil || errors.Is(err, inventory.ErrStillThere) {
				t.Errorf("%s: absence of %s: %v, want a doubt", state, id, err)
			}
		}
		if d := time.Since(began); d > 2500*time.Millisecond {
			t.Errorf("%s: answers took %s", state, d)
		}
		w.gate(t, "eu", gate.Up)
		w.synced(t)
		eventually(t, "absence confirmed again", func() error { return absent(w.ConfirmAbsent(t.Context(), uuid(t, strange))) })
	}
}

func TestConfirmAbsent(t *testing.T) {
	w := start(t, nil)
	if err := w.ConfirmAbsent(t.Context(), uuid(t, strange)); err == nil {
		t.Error("confirmed before the first sync")
	}
	w.synced(t)
	u := uuid(t, w1UUID)
	for _, u := range []match.UUID{u, u.Swapped()} {
		if err := w.ConfirmAbsent(t.Context(), u); !errors.Is(err, inventory.ErrStillThere) {
			t.Errorf("a VM that is there: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.ConfirmAbsent(ctx, uuid(t, strange)); err == nil {
		t.Error("confirmed by a question that was never asked")
	}
	w.do(t, "us", "/americas/west/vm/w1", (*object.VirtualMachine).PowerOff, (*object.VirtualMachine).Destroy)
	eventually(t, "gone from the index", func() error {
		if vms := w.ByUUID(u).VMs; len(vms) > 0 {
			return errors.New("still there")
		}
		return nil
	})
	if err := w.ConfirmAbsent(t.Context(), u); err != nil {
		t.Error(err)
	}
}

// A configured datacenter that cannot be found makes every absence doubtful.
func TestDatacenterFilter(t *testing.T) {
	w := start(t, func(_ *world, cfg *inventory.Config) { cfg.VCenters[0].Datacenters = []string{"/americas/west"} })
	w.synced(t)
	if _, err := w.ByHostName("w1").One(); err != nil {
		t.Error(err)
	}
	if vms := w.ByHostName("e1").VMs; len(vms) != 0 {
		t.Errorf("outside: %v", vms)
	}
	if err := w.ConfirmAbsent(t.Context(), uuid(t, strange)); err != nil {
		t.Error(err)
	}
	for _, u := range []match.UUID{uuid(t, e1UUID), uuid(t, e1UUID).Swapped()} {
		err := w.ConfirmAbsent(t.Context(), u)
		if err == nil || errors.Is(err, inventory.ErrStillThere) || !strings.Contains(err.Error(), "is outside the configured datacenters") {
			t.Errorf("%s in another datacenter: %v", u, err)
		}
	}

	w = start(t, func(_ *world, cfg *inventory.Config) { cfg.VCenters[0].Datacenters = []string{"west", "renamed"} })
	w.synced(t)
	if err := w.ConfirmAbsent(t.Context(), uuid(t, strange)); err == nil || !strings.Contains(err.Error(), `"renamed" not found`) {
		t.Errorf("got %v", err)
	}
}

// While one VM cannot be identified, no VM is confirmed gone; existing ones are found.
func TestConfirmUnidentified(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	lost := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-lost"}
	w.Feed("us", vcenter.Update{Kind: vcenter.Enter, Ref: lost, Missing: []string{"summary.config.uuid"}})
	if err := w.ConfirmAbsent(t.Context(), uuid(t, strange)); err == nil || !strings.Contains(err.Error(), "vm-lost") {
		t.Errorf("got %v, want a doubt about vm-lost", err)
	}
	if err := w.ConfirmAbsent(t.Context(), uuid(t, w1UUID)); !errors.Is(err, inventory.ErrStillThere) {
		t.Errorf("a VM that is there: %v", err)
	}
	w.Feed("us", vcenter.Update{Kind: vcenter.Leave, Ref: lost})
	if err := w.ConfirmAbsent(t.Context(), uuid(t, strange)); err != nil {
		t.Error(err)
	}
}

// A slow vCenter does not count as unreachable: absence is confirmed although all queries together take longer than the timeout
// of one.
func TestConfirmSlow(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	u := uuid(t, w1UUID)
	w.do(t, "us", "/americas/west/vm/w1", (*object.VirtualMachine).PowerOff, (*object.VirtualMachine).Destroy)
	eventually(t, "gone from the index", func() error {
		if vms := w.ByUUID(u).VMs; len(vms) > 0 {
			return errors.New("still there")
		}
		return nil
	})
	us := w.vcenter(t, "us").Gate()
	searches := func() (n int64) {
		for _, s := range us.Stats() {
			if s.Method == "FindByUuid" {
				n += s.Calls
			}
		}
		return n
	}
	before := searches()
	if err := us.Set(t.Context(), gate.Mode{State: gate.Slow, Delay: 800 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := w.ConfirmAbsent(t.Context(), u); err != nil {
		t.Error(err)
	}
	if n := searches() - before; n != 4 {
		t.Errorf("%d searches, want two per byte order", n)
	}
	if s := w.clients["us"].State(); !s.Connected {
		t.Errorf("state %+v", s)
	}
}

func TestPowerOff(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	w.do(t, "us", "/americas/west/vm/w1", (*object.VirtualMachine).PowerOff)
	eventually(t, "off, without guest", func() error {
		vm, err := w.ByUUID(uuid(t, w1UUID)).One()
		switch {
		case err != nil:
			return err
		case vm.Power != types.VirtualMachinePowerStatePoweredOff || len(vm.Adapters) > 0:
			return errors.New("not yet")
		}
		return nil
	})
}

// A wrong password on one vCenter is a typed error, does not affect the other, and ends with correct credentials.
func TestWrongPassword(t *testing.T) {
	w := start(t, func(w *world, _ *inventory.Config) { w.setPassword("eu", "wrong") })
	eventually(t, "us in sync", func() error {
		_, err := w.ByHostName("w1").One()
		return err
	})
	eventually(t, "eu refuses", func() error {
		if _, err := w.ByHostName("eu1").One(); !errors.Is(err, vcenter.ErrInvalidLogin) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := w.WaitSynced(ctx); !errors.Is(err, vcenter.ErrInvalidLogin) {
		t.Errorf("wait: %v", err)
	}
	w.setPassword("eu", w.vcenter(t, "eu").Password())
	w.clients["eu"].CredentialsChanged()
	eventually(t, "eu in sync", func() error {
		_, err := w.ByHostName("eu1").One()
		return err
	})
}
