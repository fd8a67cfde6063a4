package cns

import (
	"cmp"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// take waits until no operation is under way on the volume and marks it busy; nil when there is none of that id. What it
// returns may be read without the lock until release, because nobody else changes a busy volume; but for where it is attached,
// which also a VM's end, or somebody who removes the device, changes.
func (m *Manager) take(id string) *volume {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		v := m.volumes[id]
		if v == nil {
			return nil
		}
		if v.busy == nil {
			v.busy = make(chan struct{})
			return v
		}
		busy := v.busy
		m.mu.Unlock()
		<-busy
		m.mu.Lock()
	}
}

// release ends the operation that take began, after change has been made to it under the lock (nil: none).
func (m *Manager) release(v *volume, change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if change != nil {
		change()
	}
	close(v.busy)
	v.busy = nil
}

// Volumes returns all volumes, ordered by id.
func (m *Manager) Volumes() []Volume {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Volume, 0, len(m.volumes))
	for _, v := range m.volumes {
		all = append(all, v.copy())
	}
	slices.SortFunc(all, func(a, b Volume) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Volume returns one; false when there is none of that id.
func (m *Manager) Volume(id string) (Volume, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := m.volumes[id]; v != nil {
		return v.copy(), true
	}
	return Volume{}, false
}

func (v *volume) copy() Volume {
	c := Volume{
		ID: v.id, Name: v.name, File: v.file, CapacityMB: v.capacity, Datastore: v.datastore, DiskUUID: v.disk, Path: v.path,
		PolicyID: v.policy, Snapshots: len(v.snapshot), Created: v.created,
	}
	for _, md := range v.metadata {
		c.Clusters = append(c.Clusters, md.ContainerCluster.ClusterId)
	}
	if v.on != nil {
		c.VM, c.Controller, c.Unit = v.on.vm, v.on.controller, v.on.unit
	} else {
		c.VM = types.ManagedObjectReference{}
	}
	return c
}
