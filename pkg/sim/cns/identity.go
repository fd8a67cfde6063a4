package cns

import (
	"strconv"

	"github.com/google/uuid"
)

// derive is a UUID that follows from the seed and from what it is for.
func (m *Manager) derive(of ...string) string {
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte("vsphere-sandbox cns\x00"+m.opts.Seed+"\x00"+m.opts.VCenter))
	for _, part := range of {
		id = uuid.NewSHA1(id, []byte(part))
	}
	return id.String()
}

// newID is the id of a new volume: it follows from the seed and the volume's name, and is one that no volume has ever
// had here; see nextID. The lock is held.
func (m *Manager) newID(name, cluster string) string {
	for n := 0; ; n++ {
		id := m.derive("volume", name, cluster, strconv.Itoa(n))
		if !m.used[id] && m.volumes[id] == nil {
			m.used[id] = true
			return id
		}
	}
}

// diskUUID is the UUID of a volume's disk: of the form that vSphere gives to disks, and the same whenever and wherever the
// disk is attached.
func (m *Manager) diskUUID(id string) string { return "6000C29" + m.derive("disk", id)[7:] }
