package fold

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// index finds keys of rows by something that several may have in common. They are sorted.
type index map[string][]string

func (x index) add(by, key string) {
	if i, there := slices.BinarySearch(x[by], key); by != "" && !there {
		x[by] = slices.Insert(x[by], i, key)
	}
}

func (x index) remove(by, key string) {
	i, there := slices.BinarySearch(x[by], key)
	if !there {
		return
	}
	if x[by] = slices.Delete(x[by], i, i+1); len(x[by]) == 0 {
		delete(x, by)
	}
}

// put adds, or removes, as there says.
func (x index) put(there bool, by, key string) {
	if there {
		x.add(by, key)
	} else {
		x.remove(by, key)
	}
}

// changed says that a row is not as this one was, or is as this one is now. It is called for both.
func (f *findings) changed(row world.Row) {
	is, there := f.world.Row(row.Kind, row.Key)
	switch v := row.Value.(type) {
	case api.VM:
		now, _ := is.Value.(api.VM)
		name := join(v.VCenter, v.Name)
		f.vms.put(there && name == join(now.VCenter, now.Name), name, row.Key)
		f.touch(world.Node, f.nodes[name])
		for _, name := range nodeNames(v) {
			f.names.put(there && slices.Contains(nodeNames(now), name), name, row.Key)
			f.soil(rowKey{world.Node, name})
		}
		// All that have its UUID are concerned, before and after.
		f.touch(world.VM, f.uuids[id(v.UUID)])
		f.uuids.put(there && id(now.UUID) == id(v.UUID), id(v.UUID), row.Key)
		f.touch(world.VM, f.uuids[id(v.UUID)])
		f.soil(rowKey{world.VM, row.Key})
	case api.Node:
		now, _ := is.Value.(api.Node)
		name := join(v.VCenter, v.VM)
		f.nodes.put(there && v.VM != "" && name == join(now.VCenter, now.VM), name, row.Key)
		f.soil(rowKey{world.Node, row.Key})
		for _, key := range f.attached[v.Name] {
			at, _ := f.world.Row(world.Attachment, key)
			a, _ := at.Value.(api.Attachment)
			f.soil(rowKey{world.Volume, a.Volume})
		}
	case api.Volume:
		for _, name := range row.Names() {
			f.volumes.put(there && slices.Contains(is.Names(), name), name, row.Key)
		}
		f.soil(rowKey{world.Volume, row.Key})
	case api.Attachment:
		now, _ := is.Value.(api.Attachment)
		f.attachments.put(there && now.Volume == v.Volume, v.Volume, row.Key)
		f.attached.put(there && now.Node == v.Node, v.Node, row.Key)
		f.soil(rowKey{world.Volume, v.Volume})
	case api.Host:
		for _, vm := range f.world.Rows(world.VM) {
			if on := vm.Value.(api.VM); on.VCenter == v.VCenter && on.Host == v.Name {
				f.touch(world.Node, f.nodes[join(on.VCenter, on.Name)])
			}
		}
	case api.Lease:
		f.leased(v, there)
	}
}

// nodeNames are the names that the node of a VM may have.
func nodeNames(vm api.VM) []string { return []string{id(vm.Name), id(vm.Hostname)} }

// touch marks rows for examination.
func (f *findings) touch(kind world.Kind, keys []string) {
	for _, key := range keys {
		f.soil(rowKey{kind, key})
	}
}

// leased keeps what is broken on purpose now. It is a reason for nodes that are not ready.
func (f *findings) leased(l api.Lease, there bool) {
	_, was := f.leases[l.ID]
	if now, _ := f.world.Row(world.Lease, l.ID); there {
		l, _ = now.Value.(api.Lease)
	}
	is := there && (l.State == "applying" || l.State == "active" || l.State == "healing")
	if delete(f.leases, l.ID); is {
		f.leases[l.ID] = l.Targets
	}
	if !was && !is {
		return
	}
	for _, row := range f.world.Rows(world.Node) {
		if n := row.Value.(api.Node); n.Ready != "True" {
			f.soil(rowKey{world.Node, row.Key})
		}
	}
}
