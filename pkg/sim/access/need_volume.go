package access

import (
	cns "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/simulator"
)

// volumes says what calls of cloud native storage need of their arguments. Volumes that exist are known to CNS alone, so
// what their datastores would need is not checked.
//
// Source: "vSphere Roles and Privileges" of the vSphere Container Storage Plug-in (roles CNS-DATASTORE, CNS-VM).
func (n *needs) volumes(method *simulator.Method) {
	switch req := method.Body.(type) {
	case *cns.CnsCreateVolume:
		for _, spec := range req.CreateSpecs {
			n.add("Datastore.FileManagement", spec.Datastores...)
		}
	case *cns.CnsAttachVolume:
		for _, spec := range req.AttachSpecs {
			n.add("VirtualMachine.Config.AddExistingDisk", spec.Vm)
			n.add("VirtualMachine.Config.AddRemoveDevice", spec.Vm)
		}
	case *cns.CnsDetachVolume:
		for _, spec := range req.DetachSpecs {
			n.add("VirtualMachine.Config.AddRemoveDevice", spec.Vm)
		}
	}
}
