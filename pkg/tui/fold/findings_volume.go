package fold

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// attaching is how long attaching and detaching may take at any speed.
const attaching = 5 * time.Second

// ofVolume compares the node that a volume is attached to with the VM that has its disk.
func (f *findings) ofVolume(v api.Volume) []found {
	switch v.State {
	case api.VolumeLost:
		return []found{{"volume", "CNS has no such volume", small}}
	case api.VolumeOrphaned:
		return []found{{"volume", "in CNS, no PersistentVolume", attaching + f.speed.Of(pace.CSIReconcile)}}
	}
	if v.Handle == "" || v.VCenter == "" { // of another driver, or none yet
		return nil
	}
	keys := f.attachments[v.Name]
	for _, key := range keys {
		row, _ := f.world.Row(world.Attachment, key)
		a, _ := row.Value.(api.Attachment)
		vm := f.vmNamed(a.Node)
		switch {
		case a.Attached && v.VM == "":
			return []found{{"volume", "attached to " + a.Node + ", no VM has its disk", attaching}}
		case a.Attached && vm != "" && v.VM != vm:
			return []found{{"volume", "attached to " + a.Node + ", disk on VM " + v.VM, attaching}}
		case !a.Attached && v.VM != "" && len(keys) == 1:
			return []found{{"volume", "disk on VM " + v.VM + ", not attached to " + a.Node, attaching}}
		}
	}
	if v.VM != "" && len(keys) == 0 {
		return []found{{"volume", "disk on VM " + v.VM + ", no VolumeAttachment", attaching}}
	}
	return nil
}

// vmNamed returns the name of the VM of a node, or "" if unknown.
func (f *findings) vmNamed(node string) string {
	row, _ := f.world.Row(world.Node, node)
	n, _ := row.Value.(api.Node)
	return n.VM
}
