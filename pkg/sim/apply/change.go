package apply

import (
	"context"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// differs plans what changes an object that is there.
func (p *planner) differs(n *named, live *entity) {
	switch n.kind {
	case KindDatacenter:
		in := p.all[get[ref](live, "parent")]
		if in == nil || in.key == folderKey(n.dc.Folder) {
			return
		}
		p.step(Change, n.kind, n.path, "moved from "+p.path(live), func(ctx context.Context, c *vim25.Client) error {
			to, err := p.find(folderKey(n.dc.Folder))
			if err != nil {
				return err
			}
			t, err := object.NewFolder(c, to).MoveInto(ctx, []ref{live.ref})
			return wait(ctx, t, err)
		})
	case KindHost:
		cores, memory := get[int16](live, "hardware.cpuInfo.numCpuCores"), get[int64](live, "hardware.memorySize")
		if want := min(n.host.CPUs, 1<<14); int32(cores) != want {
			p.cannot(n.path, "has %d CPUs, and hardware is not changed: %d are wanted", cores, want)
		}
		if topology.Bytes(memory) != n.host.Memory {
			p.cannot(n.path, "has %s of memory, and hardware is not changed: %s is wanted", topology.Bytes(memory), n.host.Memory)
		}
	case KindSwitch:
		p.switchDiffers(n, live)
	case KindPortGroup:
		p.portGroupDiffers(n, live)
	case KindDatastore:
		p.datastoreDiffers(n, live)
	}
}
