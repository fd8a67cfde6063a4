package inventory

import (
	"context"
	"errors"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// A held function runs from the first hold to the last release, and does not start again.
func TestHeld(t *testing.T) {
	begun, failure := make(chan struct{}, 2), errors.New("failure")
	h := &sharedRun{run: func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		return errors.Join(failure)
	}}
	first, cancel := context.WithCancel(t.Context())
	if err := h.hold(first); err != nil {
		t.Fatal(err)
	}
	<-begun
	cancel()
	if err := h.hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.release(); err != nil {
		t.Errorf("release while somebody else holds it: %v", err)
	}
	select {
	case <-h.done:
		t.Error("ended while it is held")
	default:
	}
	if err := h.release(); !errors.Is(err, failure) {
		t.Errorf("last release: %v", err)
	}
	if err := h.hold(t.Context()); !errors.Is(err, errEnded) {
		t.Errorf("hold after the end: %v", err)
	}
	if len(begun) > 0 {
		t.Error("began twice")
	}
}

// A new connection to the same server keeps the references of VMs that left; a server at another address gets none.
func TestDepartedIsTakenOver(t *testing.T) {
	client := func(name, server string) VCenterConfig {
		c, err := vcenter.New(vcenter.Config{
			Name: name, Server: server, UserAgent: "test",
			Credentials: func(context.Context) (vcenter.Credentials, error) { return vcenter.Credentials{}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return VCenterConfig{Client: c}
	}
	first, err := New(Config{VCenters: []VCenterConfig{client("a", "s1")}})
	if err != nil {
		t.Fatal(err)
	}
	u := UUID{1}
	x := first.members[0].index
	x.departed[u] = []types.ManagedObjectReference{ref("VirtualMachine", "vm-1")}
	x.put(&VM{Ref: ref("VirtualMachine", "vm-2"), UUID: u})
	x.put(&VM{Ref: ref("VirtualMachine", "vm-3")})
	next, err := New(Config{VCenters: []VCenterConfig{client("b", "s1"), client("c", "s2")}, Previous: first})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{2, 0} {
		if got := next.members[i].index.lastSeen(u); len(got) != want {
			t.Errorf("member %d: %v", i, got)
		}
	}
	// References of VMs that the new index sees need not be kept.
	x = next.members[0].index
	x.put(&VM{Ref: ref("VirtualMachine", "vm-2"), UUID: u})
	if got := x.lastSeen(u); len(got) != 2 || len(x.departed) != 1 {
		t.Errorf("got %v", got)
	}
}
