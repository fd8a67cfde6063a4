package inventory

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

// sameVM reports whether nobody who looks at both VMs can tell them apart.
func sameVM(a, b *VM) bool {
	return a.Ref == b.Ref && a.VCenter == b.VCenter &&
		a.Name == b.Name && a.UUID == b.UUID && a.InstanceUUID == b.InstanceUUID && a.GuestID == b.GuestID &&
		a.NumCPU == b.NumCPU && a.MemoryMB == b.MemoryMB && a.Template == b.Template &&
		a.HostName == b.HostName && slices.EqualFunc(a.Adapters, b.Adapters, sameAdapter) &&
		slices.Equal(a.Static, b.Static) && sameError(a.StaticErr, b.StaticErr) &&
		a.Power == b.Power && a.Connection == b.Connection &&
		a.Host == b.Host && a.ResourcePool == b.ResourcePool && a.Parent == b.Parent
}

func sameAdapter(a, b guest.Adapter) bool {
	return a.Network == b.Network && a.Virtual == b.Virtual && slices.Equal(a.Addresses, b.Addresses)
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error()
}
