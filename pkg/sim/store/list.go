package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// list returns the objects to save, in order: managers, the tree, parts of its objects, and snapshots.
func (s *saver) list(content *types.ServiceContent) (_ []vc.Ref, err error) {
	var all []vc.Ref
	for _, ref := range mo.References(*content) {
		if ref != content.RootFolder {
			all = append(all, ref)
		}
	}
	v, err := view.NewManager(s.client).CreateContainerView(s.ctx, content.RootFolder, nil, true)
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	defer func() {
		if failed := v.Destroy(s.ctx); err == nil && failed != nil {
			err = fmt.Errorf("inventory: %w", failed)
		}
	}()
	tree := []vc.Ref{content.RootFolder}
	for _, kind := range entityTypes() {
		var found []mo.ManagedEntity
		if err := s.retrieve(v, kind, []string{"name"}, &found); err != nil {
			return nil, err
		}
		for i := range found {
			if found[i].Self.Type == kind { // a kind may include others
				tree = append(tree, found[i].Self)
			}
		}
	}
	rank := make(map[string]int)
	for i, kind := range entityTypes() {
		rank[kind] = i
	}
	slices.SortFunc(tree, func(a, b vc.Ref) int {
		if d := rank[a.Type] - rank[b.Type]; d != 0 {
			return d
		}
		return compareRefs(a, b)
	})
	all = append(all, slices.Compact(tree)...)
	parts, err := s.parts(v)
	return append(all, distinct(parts)...), err
}

// parts returns the objects that belong to those of the tree.
func (s *saver) parts(v *view.ContainerView) (all []vc.Ref, err error) {
	add := func(ref *vc.Ref) {
		if ref != nil && ref.Value != "" {
			all = append(all, *ref)
		}
	}
	var computes []mo.ComputeResource
	if err := s.retrieve(v, "ComputeResource", []string{"environmentBrowser"}, &computes); err != nil {
		return nil, err
	}
	for i := range computes {
		add(computes[i].EnvironmentBrowser)
	}
	var stores []mo.Datastore
	if err := s.retrieve(v, "Datastore", []string{"browser"}, &stores); err != nil {
		return nil, err
	}
	for i := range stores {
		add(&stores[i].Browser)
	}
	var hosts []mo.HostSystem
	if err := s.retrieve(v, "HostSystem", []string{"configManager"}, &hosts); err != nil {
		return nil, err
	}
	for i := range hosts {
		m := &hosts[i].ConfigManager
		add(m.NetworkSystem)
		add(m.VirtualNicManager)
		add(m.CertificateManager)
		add(m.DatastoreSystem)
	}
	var vms []mo.VirtualMachine
	if err := s.retrieve(v, "VirtualMachine", []string{"snapshot"}, &vms); err != nil {
		return nil, err
	}
	for i := range vms {
		if vms[i].Snapshot != nil {
			snapshots(vms[i].Snapshot.RootSnapshotList, func(t *types.VirtualMachineSnapshotTree, _ *vc.Ref) { add(&t.Snapshot) })
		}
	}
	return all, nil
}

// snapshots visits a tree of snapshots, each with its parent.
func snapshots(list []types.VirtualMachineSnapshotTree, visit func(t *types.VirtualMachineSnapshotTree, above *vc.Ref)) {
	var walk func(list []types.VirtualMachineSnapshotTree, above *vc.Ref)
	walk = func(list []types.VirtualMachineSnapshotTree, above *vc.Ref) {
		for i := range list {
			visit(&list[i], above)
			walk(list[i].ChildSnapshotList, &list[i].Snapshot)
		}
	}
	walk(list, nil)
}

func (s *saver) retrieve(v *view.ContainerView, kind string, paths []string, dst any) error {
	err := v.Retrieve(s.ctx, []string{kind}, paths, dst)
	if err != nil && !gone(err) {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}

// gone reports whether an object was removed during the save.
func gone(err error) bool {
	return err != nil && (fault.Is(err, &types.ManagedObjectNotFound{}) || errors.Is(err, errGone))
}

var errGone = errors.New("no longer there")
