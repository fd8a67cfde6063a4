package cns

import (
	"cmp"
	"slices"
)

// put adds a volume that is not there yet. The lock is held.
func (m *Manager) put(v *volume) {
	m.last++
	v.number = m.last
	m.volumes[v.id] = v
	m.order = append(m.order, v)
}

// drop removes a volume: from then on there is none of its id. The lock is held.
func (m *Manager) drop(v *volume) {
	delete(m.volumes, v.id)
	i, found := slices.BinarySearchFunc(m.order, v.number, func(v *volume, number uint64) int { return cmp.Compare(v.number, number) })
	if found {
		m.order = slices.Delete(m.order, i, i+1)
	}
}
