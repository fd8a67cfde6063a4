package provider

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// verdict is the result for a node that is not ready.
type verdict string

const (
	stays   verdict = "stays"   // its VM exists
	deleted verdict = "deleted" // its VM is gone
	kept    verdict = "kept"    // an error
)

// The results by our rules and by upstream's.
func TestExists(t *testing.T) {
	one := []*inventory.VM{vmOf(t, "one", u1, "n1", "192.0.2.1")}
	inDoubt := errors.New("search failed")
	for _, tc := range []struct {
		name           string
		vms            []*inventory.VM
		doubt, confirm error
		node           *corev1.Node
		ours, upstream verdict
		reason         string // of the event, by ours
	}{
		{"there", one, nil, nil, node("n1", "vsphere://"+u1, ""), stays, stays, ""},
		{"there, other byte order", one, nil, nil, node("n1", "vsphere://"+u1Swapped, ""), stays, stays, ""},
		{"gone", one, nil, nil, node("n9", "vsphere://"+uUnknown, uUnknown), deleted, deleted, ""},
		{"gone, while another has the name", one, nil, nil, node("n1", "vsphere://"+uUnknown, uUnknown), deleted, deleted, ""},
		{"a vcenter is out", one, vcenter.ErrNotConnected, nil, node("n9", "vsphere://"+uUnknown, ""), kept, kept, ReasonVCenterUnavailable},
		{"a vcenter refuses the login", one, fmt.Errorf("%w: %w", vcenter.ErrNotConnected, vcenter.ErrInvalidLogin), nil, node("n9", "vsphere://"+uUnknown, ""), kept, kept, ReasonVCenterUnavailable},
		{"an inventory is not in sync", one, inventory.ErrNotSynced, nil, node("n9", "vsphere://"+uUnknown, ""), kept, kept, ReasonVCenterUnavailable},
		{"a search fails", one, nil, inDoubt, node("n9", "vsphere://"+uUnknown, ""), kept, kept, ReasonDeletionHeldBack},
		{"no search finds it and its reference resolves", one, nil, inventory.ErrStillThere, node("n9", "vsphere://"+uUnknown, ""), stays, stays, ReasonVMInaccessible},
		{"kind", one, nil, nil, node("n9", "kind://docker/kind/n9", ""), kept, deleted, ReasonForeignProviderID},
		{"k3s", one, nil, nil, node("n9", "k3s://n9", ""), kept, deleted, ReasonForeignProviderID},
		{"aws", one, nil, nil, node("n9", "aws:///a/i-0", ""), kept, deleted, ReasonForeignProviderID},
		{"empty providerID of ours", one, nil, nil, node("n1", "vsphere://", u1), kept, kept, ReasonInvalidProviderID},
		{"unknown without a providerID", one, nil, nil, node("n9", "", uUnknown), kept, kept, ReasonVMNotFound},
		{"known without a providerID", one, nil, nil, node("n1", "", ""), stays, stays, ""},
		{"off", []*inventory.VM{vmOf(t, "one", u1, "n1", "", off)}, nil, nil, node("n1", "vsphere://"+u1, ""), stays, kept, ""},
		{"guest reports no adapters", []*inventory.VM{vmOf(t, "one", u1, "n1", "")}, nil, nil, node("n1", "vsphere://"+u1, ""), stays, kept, ""},
		{"made a template", []*inventory.VM{vmOf(t, "one", u1, "n1", "192.0.2.1", template)}, nil, nil, node("n1", "vsphere://"+u1, ""), stays, stays, ""},
		{"two of its uuid", []*inventory.VM{vmOf(t, "x", u1, "x", "192.0.2.1"), vmOf(t, "y", u1, "y", "192.0.2.2")}, nil, nil, node("n1", "vsphere://"+u1, ""), stays, stays, ReasonVMAmbiguous},
		{"two of its uuid, both off", []*inventory.VM{vmOf(t, "x", u1, "x", "", off), vmOf(t, "y", u1, "y", "", off)}, nil, nil, node("n1", "vsphere://"+u1, ""), stays, kept, ReasonVMAmbiguous},
		{"runs on one of two VMs of a uuid, that of its providerID is gone", []*inventory.VM{vmOf(t, "x", u1, "x", "192.0.2.1"), vmOf(t, "y", u1, "y", "192.0.2.2")}, nil, nil, node("n1", "vsphere://"+uUnknown, u1), kept, deleted, ReasonDeletionHeldBack},
		{"runs on another VM than its providerID's, which is gone", one, nil, nil, node("n1", "vsphere://"+uUnknown, u1), kept, deleted, ReasonDeletionHeldBack},
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

// A node is not deleted while the VM with its system UUID may exist, with any providerID.
func TestExistsAsksForBothUUIDs(t *testing.T) {
	x := &listIndex{}
	if got, err := verdictOf(t, x.over(""), node("n1", "vsphere://"+u1, u1Swapped)); got != deleted || len(x.confirmed) != 1 {
		t.Errorf("the same uuid: %s (%v), asked for %v", got, err, x.confirmed)
	}
	x = &listIndex{}
	if got, err := verdictOf(t, x.over(""), node("n1", "vsphere://"+u1, u2)); got != deleted || len(x.confirmed) != 2 {
		t.Errorf("two uuids: %s (%v), asked for %v", got, err, x.confirmed)
	}
	x = &listIndex{}
	x.between = func() {
		if len(x.confirmed) == 2 {
			x.confirm = inventory.ErrStillThere // outside the configured datacenters, so that lookups do not find it
		}
	}
	if got, err := verdictOf(t, x.over(""), node("n1", "vsphere://"+u1, u2)); got != stays || !errors.Is(err, inventory.ErrStillThere) {
		t.Errorf("the other is there: %s (%v)", got, err)
	}
}

func verdictOf(t *testing.T, i instances, n *corev1.Node) (verdict, error) {
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

// Only the power state of the VM that the node runs on counts.
func TestShutdown(t *testing.T) {
	power := func(s types.VirtualMachinePowerState) func(*inventory.VM) {
		return func(vm *inventory.VM) { vm.Power = s }
	}
	for _, tc := range []struct {
		name           string
		vms            []*inventory.VM
		node           *corev1.Node
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
		{"off, and runs on one of two of a uuid", []*inventory.VM{
			vmOf(t, "one", u1, "n1", "", off), vmOf(t, "two", u2, "x", ""), vmOf(t, "three", u2, "y", "", off),
		}, node("n1", "vsphere://"+u1, u2), "system uuid is that of vm two", true},
		{"two of its uuid, both off", []*inventory.VM{
			vmOf(t, "one", u1, "", "", off), vmOf(t, "two", u1, "", "", off),
		}, node("n1", "vsphere://"+u1, u1), true, true},
		{"two of its uuid, one off", []*inventory.VM{
			vmOf(t, "one", u1, "x", "", off), vmOf(t, "two", u1, "y", ""),
		}, node("n1", "vsphere://"+u1, u1), "several vms match", true},
		{"two of the name it is known by alone, both off", []*inventory.VM{
			vmOf(t, "one", u1, "n1", "", offAndNamed), vmOf(t, "two", u2, "n1", "", offAndNamed),
		}, node("n1", "", ""), "several vms match", "several vms match"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := &listIndex{vms: tc.vms}
			expectShutdown(t, x.over(""), tc.node, tc.ours)
			expectShutdown(t, x.over(ParityUpstream), tc.node, tc.upstream)
		})
	}
}

// While a vCenter is unreachable, a VM that is off may not be the node's: the VM with its system UUID, or a running copy, may be
// there.
func TestShutdownInDoubt(t *testing.T) {
	x := &listIndex{vms: []*inventory.VM{vmOf(t, "one", u1, "n1", "", off)}, doubt: vcenter.ErrNotConnected}
	expectShutdown(t, x.over(""), node("n1", "vsphere://"+u1, u1), true)
	expectShutdown(t, x.over(""), node("n1", "vsphere://"+u1, ""), true)
	expectShutdown(t, x.over(""), node("n1", "vsphere://"+u1, u2), "not every vcenter could be asked")
	expectShutdown(t, x.over(ParityUpstream), node("n1", "vsphere://"+u1, u2), true)
	x.vms = append(x.vms, vmOf(t, "two", u1, "", "", off))
	expectShutdown(t, x.over(""), node("n1", "vsphere://"+u1, u1), "several vms match")
}

func expectShutdown(t *testing.T, i instances, n *corev1.Node, want any) {
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
