package provider

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// verdict is what becomes of a node that is not ready.
type verdict string

const (
	stays   verdict = "stays"   // its VM is there
	deleted verdict = "deleted" // it is gone
	kept    verdict = "kept"    // an error: nothing is concluded
)

// What becomes of a node: by ours and by upstream's rules.
func TestExists(t *testing.T) {
	one := []*inventory.VM{vmOf(t, "one", u1, "n1", "192.0.2.1")}
	inDoubt := errors.New("search failed")
	for _, tc := range []struct {
		name           string
		vms            []*inventory.VM
		doubt, confirm error
		node           *v1.Node
		ours, upstream verdict
		reason         string // of the event, by ours
	}{
		{"there", one, nil, nil, node("n1", "vsphere://"+u1, ""), stays, stays, ""},
		{"there, other byte order", one, nil, nil, node("n1", "vsphere://"+u1Swapped, ""), stays, stays, ""},
		{"gone", one, nil, nil, node("n9", "vsphere://"+uNobody, uNobody), deleted, deleted, ""},
		{"gone, while another has the name", one, nil, nil, node("n1", "vsphere://"+uNobody, uNobody), deleted, deleted, ""},
		{"a vcenter is out", one, vcenter.ErrNotConnected, nil, node("n9", "vsphere://"+uNobody, ""), kept, kept, ReasonDeletionHeldBack},
		{"a vcenter refuses the login", one, fmt.Errorf("%w: %w", vcenter.ErrNotConnected, vcenter.ErrInvalidLogin), nil, node("n9", "vsphere://"+uNobody, ""), kept, kept, ReasonDeletionHeldBack},
		{"an inventory is not in sync", one, inventory.ErrNotSynced, nil, node("n9", "vsphere://"+uNobody, ""), kept, kept, ReasonDeletionHeldBack},
		{"a search fails", one, nil, inDoubt, node("n9", "vsphere://"+uNobody, ""), kept, kept, ReasonDeletionHeldBack},
		{"no search finds it and its reference resolves", one, nil, inventory.ErrStillThere, node("n9", "vsphere://"+uNobody, ""), stays, stays, ReasonVMInaccessible},
		{"kind", one, nil, nil, node("n9", "kind://docker/kind/n9", ""), kept, deleted, ReasonForeignProviderID},
		{"k3s", one, nil, nil, node("n9", "k3s://n9", ""), kept, deleted, ReasonForeignProviderID},
		{"aws", one, nil, nil, node("n9", "aws:///a/i-0", ""), kept, deleted, ReasonForeignProviderID},
		{"empty providerID of ours", one, nil, nil, node("n1", "vsphere://", u1), kept, kept, ReasonInvalidProviderID},
		{"unknown without a providerID", one, nil, nil, node("n9", "", uNobody), kept, kept, ReasonVMNotFound},
		{"known without a providerID", one, nil, nil, node("n1", "", ""), stays, stays, ""},
		{"off", []*inventory.VM{vmOf(t, "one", u1, "n1", "", off)}, nil, nil, node("n1", "vsphere://"+u1, ""), stays, kept, ""},
		{"guest reports no adapters", []*inventory.VM{vmOf(t, "one", u1, "n1", "")}, nil, nil, node("n1", "vsphere://"+u1, ""), stays, kept, ""},
		{"made a template", []*inventory.VM{vmOf(t, "one", u1, "n1", "192.0.2.1", template)}, nil, nil, node("n1", "vsphere://"+u1, ""), stays, stays, ""},
		{"two of its uuid", []*inventory.VM{vmOf(t, "x", u1, "x", "192.0.2.1"), vmOf(t, "y", u1, "y", "192.0.2.2")}, nil, nil, node("n1", "vsphere://"+u1, ""), kept, stays, ReasonVMAmbiguous},
		{"runs on another VM than its providerID's, which is gone", one, nil, nil, node("n1", "vsphere://"+uNobody, u1), kept, deleted, ReasonDeletionHeldBack},
		{"inaccessible", []*inventory.VM{vmOf(t, "one", u1, "n1", "192.0.2.1", func(vm *inventory.VM) {
			vm.Connection = types.VirtualMachineConnectionStateInaccessible
		})}, nil, nil, node("n1", "vsphere://"+u1, ""), stays, stays, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := &listIndex{vms: tc.vms, doubt: tc.doubt, confirm: tc.confirm}
			got, err := verdictOf(t, x.over(""), tc.node)
			if got != tc.ours {
				t.Errorf("%s (%v), want %s", got, err, tc.ours)
			}
			if (err == nil) != (tc.reason == "") || err != nil && reasonOf(err) != tc.reason {
				t.Errorf("event %v, want %q", err, tc.reason)
			}
			if got == deleted && len(x.confirmed) != 1 {
				t.Errorf("%d confirmations", len(x.confirmed))
			}
			if got, err := verdictOf(t, x.over(ParityUpstream), tc.node); got != tc.upstream {
				t.Errorf("upstream: %s (%v), want %s", got, err, tc.upstream)
			}
			for _, parity := range []Parity{"", ParityUpstream} {
				i := x.over(parity)
				i.cfg.SkipNodeDeletion = true
				got, err := verdictOf(t, i, tc.node)
				if got == deleted {
					t.Errorf("deleted in spite of SKIP_NODE_DELETION")
				}
				if tc.ours == deleted && (!errors.Is(err, ErrDeletionSkipped) || reasonOf(err) != ReasonDeletionSkipped) {
					t.Errorf("skipped: %v", err)
				}
			}
		})
	}
}

func verdictOf(t *testing.T, i instances, n *v1.Node) (verdict, error) {
	t.Helper()
	exists, err := i.exists(t.Context(), n)
	switch {
	case exists:
		return stays, err
	case err == nil:
		return deleted, nil
	}
	return kept, err
}

// The power state alone decides, and only where it is that of the VM which the node runs on.
func TestShutdown(t *testing.T) {
	power := func(s types.VirtualMachinePowerState) func(*inventory.VM) {
		return func(vm *inventory.VM) { vm.Power = s }
	}
	for _, tc := range []struct {
		name           string
		vms            []*inventory.VM
		node           *v1.Node
		ours, upstream any
	}{
		{"on", []*inventory.VM{vmOf(t, "one", u1, "n1", "192.0.2.1")}, node("n1", "vsphere://"+u1, ""), false, false},
		{"on, guest reports nothing", []*inventory.VM{vmOf(t, "one", u1, "", "")}, node("n1", "vsphere://"+u1, ""), false, false},
		{"off", []*inventory.VM{vmOf(t, "one", u1, "n1", "", off)}, node("n1", "vsphere://"+u1, ""), true, true},
		{"off, other byte order", []*inventory.VM{vmOf(t, "one", u1, "n1", "", off)}, node("n1", "vsphere://"+u1Swapped, u1), true, true},
		{"suspended", []*inventory.VM{vmOf(t, "one", u1, "n1", "", power(types.VirtualMachinePowerStateSuspended))}, node("n1", "vsphere://"+u1, ""), true, true},
		{"unknown state", []*inventory.VM{vmOf(t, "one", u1, "n1", "", power(""))}, node("n1", "vsphere://"+u1, ""), "power state", "power state"},
		{"not found", nil, node("n1", "vsphere://"+u1, ""), "vm not found", "vm not found"},
		{"foreign", nil, node("n1", "kind://n1", ""), "not one of vsphere", "vm not found"},
		{"off, and runs on another", []*inventory.VM{
			vmOf(t, "one", u1, "n1", "", off), vmOf(t, "two", u2, "n1", ""),
		}, node("n1", "vsphere://"+u1, u2), "system uuid is that of vm two", true},
		{"off, and the other is too", []*inventory.VM{
			vmOf(t, "one", u1, "n1", "", off), vmOf(t, "two", u2, "n1", "", off),
		}, node("n1", "vsphere://"+u1, u2), true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := &listIndex{vms: tc.vms}
			expectShutdown(t, x.over(""), tc.node, tc.ours)
			expectShutdown(t, x.over(ParityUpstream), tc.node, tc.upstream)
		})
	}
}

func expectShutdown(t *testing.T, i instances, n *v1.Node, want any) {
	t.Helper()
	got, err := i.shutdown(n)
	if problem, ok := want.(string); ok {
		if err == nil || got || !strings.Contains(err.Error(), problem) {
			t.Errorf("got %v, %v; want %q", got, err, problem)
		}
		return
	}
	if err != nil || got != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}
