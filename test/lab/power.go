package lab

import (
	"context"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
)

// followPower follows the power of all VMs of a vCenter until ctx ends, and calls heard when it knows of all that
// there were.
func (k *Kubelets) followPower(ctx context.Context, client *govmomi.Client, heard func()) error {
	vms, err := view.NewManager(client.Client).CreateContainerView(ctx, client.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		return err
	}
	collector, err := property.DefaultCollector(client.Client).Create(ctx)
	if err != nil {
		return err
	}
	filter := new(property.WaitFilter).Add(vms.Reference(), "VirtualMachine", []string{"config.uuid", "runtime.powerState"}, vms.TraversalSpec())
	filter.Truncated = true
	uuids, first := map[types.ManagedObjectReference]string{}, true
	return property.WaitForUpdatesEx(ctx, collector, filter, func(updates []types.ObjectUpdate) bool {
		for _, u := range updates {
			k.update(ctx, uuids, u, first)
		}
		if first {
			first = false
			heard()
		}
		return false
	})
}

// update applies a property update of one VM.
func (k *Kubelets) update(ctx context.Context, uuids map[types.ManagedObjectReference]string, u types.ObjectUpdate, first bool) {
	if u.Kind == types.ObjectUpdateKindLeave {
		k.power(ctx, uuids[u.Obj], false, first)
		delete(uuids, u.Obj)
		return
	}
	power := ""
	for _, c := range u.ChangeSet {
		switch v := c.Val.(type) {
		case string:
			uuids[u.Obj] = v
		case types.VirtualMachinePowerState:
			power = string(v)
		}
	}
	if power != "" {
		k.power(ctx, uuids[u.Obj], power == string(types.VirtualMachinePowerStatePoweredOn), first)
	}
}

// power notes that the VM of that UUID is on or off. The kubelet of one that came on reports for duty.
func (k *Kubelets) power(ctx context.Context, uuid string, on, first bool) {
	if uuid == "" {
		return
	}
	k.mu.Lock()
	was, known := k.on[uuid]
	k.on[uuid] = on
	var back []string
	if on && known && !was && !first {
		for name, n := range k.nodes {
			if n.uuid == uuid {
				n.hung = false
				back = append(back, name)
			}
		}
	}
	k.mu.Unlock()
	if err := k.report(ctx, corev1.ConditionTrue, back); err != nil && ctx.Err() == nil {
		k.l.t.Errorf("kubelets %v: %v", back, err)
	}
}
