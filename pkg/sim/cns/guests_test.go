package cns_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// guests record which of them sees which disk, and the calls.
type guests struct {
	mu       sync.Mutex
	disks    map[string]vc.Ref
	reported []string
	refuse   error // what all calls return
}

func (g *guests) guestOf(what string, vm vc.Ref, d cns.GuestDisk, change func()) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reported = append(g.reported, fmt.Sprintf("%s %s %d", what, vm.Value, d.Bytes>>20))
	if g.refuse == nil && change != nil {
		change()
	}
	return g.refuse
}

func (g *guests) Plug(_ context.Context, vm vc.Ref, d cns.GuestDisk) error {
	return g.guestOf("plug", vm, d, func() { g.disks[d.Volume+" "+d.UUID] = vm })
}

func (g *guests) Unplug(_ context.Context, vm vc.Ref, d cns.GuestDisk) error {
	return g.guestOf("unplug", vm, d, func() { delete(g.disks, d.Volume+" "+d.UUID) })
}

func (g *guests) Resize(_ context.Context, vm vc.Ref, d cns.GuestDisk) error {
	return g.guestOf("resize", vm, d, nil)
}

func (g *guests) Flush(_ context.Context, vm vc.Ref, d cns.GuestDisk) error {
	return g.guestOf("flush", vm, d, nil)
}

func (g *guests) refusing(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse = err
}

// sees returns the VM whose guest sees the volume's disk.
func (g *guests) sees(s *server, id string) vc.Ref {
	v, _ := s.Volume(id)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.disks[id+" "+v.DiskUUID]
}

// said returns the calls since the last time.
func (g *guests) said() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	said := g.reported
	g.reported = nil
	return said
}

func serveGuests(t *testing.T) (*server, *guests, *event.Log) {
	t.Helper()
	g, log := &guests{disks: map[string]vc.Ref{}}, event.NewLog(1000)
	return serve(t, 2, cns.Options{Guests: g, Dir: t.TempDir(), Events: log}), g, log
}

// requireSeen waits until the guest of a VM, the zero reference for none, sees the disk: what others do is followed later.
func (g *guests) requireSeen(t *testing.T, s *server, id string, want vc.Ref) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); g.sees(s, id) != want; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("disk is seen by %v, want %v", g.sees(s, id), want)
		}
	}
}

// TestGuestsSeeDisks before a task succeeds, and not any more when one has.
func TestGuestsSeeDisks(t *testing.T) {
	s, g, _ := serveGuests(t)
	a, b := s.vms[0], s.vms[1]
	id := s.create(t, spec("pvc", "c", 10, s.datastores[1]))
	fine(t, s.attach(t, id, a))
	if g.sees(s, id) != a {
		t.Errorf("attached, and seen by %v", g.sees(s, id))
	}
	fine(t, s.extend(t, id, 20))
	fine(t, s.snapshot(t, id, "first"))
	fine(t, s.detach(t, id, a))
	if vm := g.sees(s, id); vm.Value != "" {
		t.Errorf("detached, and seen by %v", vm)
	}
	fine(t, s.attach(t, id, b))
	want := []string{"plug " + a.Value + " 10", "resize " + a.Value + " 20", "flush " + a.Value + " 20", "unplug " + a.Value + " 20", "plug " + b.Value + " 20"}
	if said := g.said(); !slices.Equal(said, want) {
		t.Errorf("told %q, want %q", said, want)
	}
}

// TestGuestsDisksByOthers: guests follow disks that other clients remove or move, and removed VMs.
func TestGuestsDisksByOthers(t *testing.T) {
	s, g, _ := serveGuests(t)
	a, b := s.vms[0], s.vms[1]
	id := s.create(t, spec("pvc", "c", 10, s.datastores[1]))
	fine(t, s.attach(t, id, a))
	d := s.diskOn(t, a, id)
	s.reconfigure(t, a, types.VirtualDeviceConfigSpecOperationRemove, d)
	g.requireSeen(t, s, id, vc.Ref{})
	s.reconfigure(t, b, types.VirtualDeviceConfigSpecOperationAdd, d)
	g.requireSeen(t, s, id, b)
	if err := s.Forget(id); err != nil { // CNS does not know it any more; the VM has it still
		t.Fatal(err)
	}
	if err := s.Restore(id); err != nil {
		t.Fatal(err)
	}
	g.requireSeen(t, s, id, b)
	vm := object.NewVirtualMachine(s.vim, b)
	if err := must[*object.Task](t)(vm.PowerOff(t.Context())).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g.sees(s, id) != b {
		t.Error("a VM that is off has lost its disk")
	}
	if err := must[*object.Task](t)(vm.Destroy(t.Context())).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.requireSeen(t, s, id, vc.Ref{})
	fine(t, s.attach(t, id, a))
	g.requireSeen(t, s, id, a)
}

// TestGuestDoesNotSeeADisk: the attachment fails with the reason, and the VM does not have the disk.
func TestGuestDoesNotSeeADisk(t *testing.T) {
	s, g, log := serveGuests(t)
	id := s.create(t, spec("pvc", "c", 10, s.datastores[1]))
	g.refusing(errors.New("no device is free"))
	f := s.attach(t, id, s.vms[0]).GetCnsVolumeOperationResult().Fault
	if f == nil {
		t.Fatal("attached")
	}
	if cf, ok := f.Fault.(*cnstypes.CnsFault); !ok || !strings.Contains(cf.Reason, "no device is free") {
		t.Errorf("fault %+v", f.Fault)
	}
	if s.attachDisk(t, s.vms[0], id, s.datastores[1], 0, nil) == nil {
		t.Error("attached as a disk")
	}
	if v, _ := s.Volume(id); v.VM.Value != "" || s.diskOn(t, s.vms[0], id) != nil {
		t.Errorf("the VM has it: %+v", v)
	}
	g.refusing(nil)
	fine(t, s.attach(t, id, s.vms[0]))
	g.refusing(errors.New("it hangs"))
	if f := s.extend(t, id, 20).GetCnsVolumeOperationResult().Fault; f == nil {
		t.Error("extended, and its guest does not see it")
	}
	fine(t, s.detach(t, id, s.vms[0])) // a disk can be removed regardless of the guest
	reported := false
	all, _ := log.Read(0, 0)
	for _, e := range all {
		reported = reported || e.Kind == "volume.held" && strings.Contains(e.Message, "it hangs")
	}
	if !reported {
		t.Error("no event says that the guest has not let go of it")
	}
}

// keeper are guests with their own contents.
type keeper struct {
	*guests
	kept []string
}

func (k *keeper) Copy(ctx context.Context, from, to string) error {
	k.kept = append(k.kept, "copy "+filepath.Base(from)+" "+filepath.Base(to))
	return disk.Copy(ctx, from, to)
}

func (k *keeper) Remove(_ context.Context, dir string) error {
	k.kept = append(k.kept, "remove "+filepath.Base(dir))
	return disk.Remove(dir)
}

// TestKeeper: guests that write to the directories of contents also copy and remove them.
func TestKeeper(t *testing.T) {
	k := &keeper{guests: &guests{disks: map[string]vc.Ref{}}}
	s := serve(t, 1, cns.Options{Guests: k, Dir: t.TempDir()})
	id := s.create(t, spec("a", "one", 64))
	r := s.snapshot(t, id, "s").(*cnstypes.CnsSnapshotCreateResult)
	fine(t, r)
	snapshot := r.Snapshot.SnapshotId.Id
	fine(t, s.deleteSnapshot(t, id, snapshot))
	fine(t, s.remove(t, id))
	want := []string{"copy " + id + " " + id + "+" + snapshot, "remove " + id + "+" + snapshot, "remove " + id}
	if diff := cmp.Diff(want, k.kept); diff != "" {
		t.Error(diff)
	}
}
