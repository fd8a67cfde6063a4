package supervisor

import "sync"

// handles has the volumes of claims, in both directions. The zero value has none.
type handles struct {
	mu      sync.Mutex
	volumes map[string]string // by claim
	claims  map[string]string // by volume
}

func (h *handles) set(claim, id string, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if gone {
		delete(h.volumes, claim)
		delete(h.claims, id)
		return
	}
	if h.volumes == nil {
		h.volumes, h.claims = map[string]string{}, map[string]string{}
	}
	h.volumes[claim], h.claims[id] = id, claim
}

// VolumeOf returns the id in vSphere of the volume of a claim, "" for none. A guest cluster's PersistentVolumes have the names of
// claims as their handles.
func (p *Part) VolumeOf(claim string) string {
	p.handles.mu.Lock()
	defer p.handles.mu.Unlock()
	return p.handles.volumes[claim]
}

// ClaimOf returns the claim that has a volume, "" for none.
func (p *Part) ClaimOf(id string) string {
	p.handles.mu.Lock()
	defer p.handles.mu.Unlock()
	return p.handles.claims[id]
}

// volumeChanged notes whose a volume is.
func (p *Part) volumeChanged(claim, id string, gone bool) {
	p.handles.set(claim, id, gone)
	p.DiskChanged(id)
}
