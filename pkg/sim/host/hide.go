package host

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Orphan makes the VM unknown to its host, as when somebody deletes it there behind the vCenter's back. Only
// UnregisterVM works on it, then.
func (h *Hosts) Orphan(ctx context.Context, ref types.ManagedObjectReference) error {
	return h.Hide(ctx, ref, types.VirtualMachineConnectionStateOrphaned)
}

// Hide shows the VM in a connection state while nothing is wrong with its host; what is wrong with that shows before it.
// The VM runs on. Calls that need it are refused as InvalidState.
func (h *Hosts) Hide(ctx context.Context, ref types.ManagedObjectReference, state types.VirtualMachineConnectionState) error {
	return h.hide(ctx, ref, state)
}

// Show ends [Hosts.Hide] and [Hosts.Orphan]; for a VM that is not hidden it does nothing.
func (h *Hosts) Show(ctx context.Context, ref types.ManagedObjectReference) error {
	return h.hide(ctx, ref, "")
}

func (h *Hosts) hide(ctx context.Context, ref vc.Ref, state types.VirtualMachineConnectionState) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, ok := h.base.Map.Get(ref).(*simulator.VirtualMachine); !ok {
		return fmt.Errorf("VM %s: no such VM", ref.Value)
	}
	h.mu.Lock()
	if state == "" {
		delete(h.hidden, ref)
	} else {
		h.hidden[ref] = state
	}
	h.mu.Unlock()
	h.settle(ref, 0)
	return nil
}
