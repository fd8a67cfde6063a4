package sandbox

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// volumes are all that CNS of a simulated vCenter knows. Of a real one they are those that VMs have: the rest nobody tells of
// without being asked.
func (w *watched) volumes() []sim.Volume {
	if w.sim != nil {
		return w.sim.Volumes()
	}
	var all []sim.Volume
	for _, vm := range w.inventory.VMs() {
		all = append(all, volumesOf(vm)...)
	}
	return all
}

// volume is the one of that id, or whose disk is at that path.
func (w *watched) volume(id string) (sim.Volume, bool) {
	if w.sim != nil && !strings.HasSuffix(id, ".vmdk") {
		return w.sim.Volume(id)
	}
	for _, v := range w.volumes() {
		if v.ID == id || v.Path == id && id != "" {
			return v, true
		}
	}
	return sim.Volume{}, false
}

func volumesOf(vm world.VM) (all []sim.Volume) {
	for _, d := range vm.Disks {
		if d.Volume == "" {
			continue
		}
		v := sim.Volume{VMName: vm.Name}
		v.ID, v.Name, v.VM, v.CapacityMB = d.Volume, d.Volume, vm.Ref, d.Bytes>>20
		v.Path = d.File
		if name, _, ok := strings.Cut(strings.TrimPrefix(d.File, "["), "]"); ok {
			v.DatastoreName = name
		}
		all = append(all, v)
	}
	return all
}

// volumeDir returns the directory that stands for a volume's disk; empty for one of a real vCenter, which this machine
// cannot see.
func (s *Sandbox) volumeDir(vc *watched) func(id string) string {
	if vc.sim == nil {
		return func(string) string { return "" }
	}
	return vc.sim.VolumeDir
}
