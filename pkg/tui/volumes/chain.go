package volumes

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
)

// plane is the plane of a hop.
type plane int

const (
	kubernetes plane = iota
	vsphere
)

// hop is one object on the path from a claim to a pod.
type hop struct {
	plane plane
	kind  string
	name  string
	state glance.Mark
	// more is additional text.
	more string
	// stuck means that the volume waits for this hop.
	stuck   bool
	changed bool
}

// csiDriver is the driver of CNS volumes.
const csiDriver = "csi.vsphere.vmware.com"

// way is what is known of a volume besides its row.
type way struct {
	api.Volume
	s           *fold.State
	attachments []api.Attachment
	vm          *api.VM
	disk        *api.Disk
}

// chain returns the path of a volume, in the order of its hops; there may be several pods and attachments.
func chain(s *fold.State, v api.Volume) []hop {
	w := &way{Volume: v, s: s}
	for _, row := range s.World().Rows(world.Attachment) {
		if a, _ := row.Value.(api.Attachment); a.Volume == v.Name {
			w.attachments = append(w.attachments, a)
		}
	}
	w.findDisk()
	hops := []hop{w.claim(), w.persistent(), w.cns(), w.file(), w.machine()}
	hops = append(hops, w.nodes()...)
	hops = append(hops, w.pods()...)
	if at := w.stuckAt(); v.Waits != "" {
		i := slices.IndexFunc(hops, func(h hop) bool { return h.kind == at && (at != "Node" || h.name == v.Node) })
		if i < 0 {
			i = slices.IndexFunc(hops, func(h hop) bool { return h.kind == at })
		}
		hops[i].stuck = true // each kind has at least one
	}
	return hops
}

// findDisk returns the VM that has the disk, according to the volume's row and the VMs' rows.
func (w *way) findDisk() {
	if w.Handle == "" {
		return
	}
	for _, row := range w.s.World().Rows(world.VM) {
		v, _ := row.Value.(api.VM)
		if w.VCenter != "" && v.VCenter != w.VCenter {
			continue
		}
		disk := slices.IndexFunc(v.Disks, func(d api.Disk) bool { return d.Volume == w.Handle })
		if found := disk >= 0; found || w.VM != "" && v.Name == w.VM && w.vm == nil {
			vm := v // keeps the others off the heap
			if w.vm = &vm; found {
				w.disk = &vm.Disks[disk]
				return
			}
		}
	}
}

// stuckAt returns the kind of the hop at which a volume waits.
func (w *way) stuckAt() string {
	switch w.State {
	case api.VolumePending:
		return "PV"
	case api.VolumeReleased, api.VolumeOrphaned:
		return "PV"
	case api.VolumeLost:
		if w.bound() {
			return "CNS volume"
		}
		return "PV"
	case api.VolumeDetached:
		return "Pod"
	case api.VolumeAttached:
		if strings.Contains(w.Waits, "to mount it") {
			return "Pod"
		}
	case api.VolumeInUse:
		if w.VM == "" && w.Driver == csiDriver {
			return "VM"
		}
	}
	return "Node"
}
