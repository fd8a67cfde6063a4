package nodes

import (
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// ref is a managed object of one vCenter.
type ref = types.ManagedObjectReference

// maxDepth bounds a walk upward: a vCenter may report a loop while objects move.
const maxDepth = 256

// inventory is the state of one vCenter. Values in its maps are replaced, never modified, so that callers may keep them.
type inventory struct {
	mu         sync.RWMutex
	vms        map[ref]*vm
	byUUID     map[match.UUID][]*vm
	unknown    map[ref]*vm // VMs without a known UUID
	departed   map[match.UUID]ref
	entities   map[ref]entity
	datastores map[ref]*datastore
}

type vm struct {
	ref                ref
	name               string
	uuid               match.UUID // zero while the vCenter has reported none
	template           bool
	host, parent, pool ref // zero when unknown
}

// entity is an object above the VMs.
type entity struct {
	name         string
	parent       ref
	disconnected bool // of a host: not connected, so that its last state may be outdated
}

// datastore is one datastore and the hosts that mount it.
type datastore struct {
	ref            ref
	name, url      string
	capacity, free int64 // bytes
	accessible     bool
	maintenance    string // "normal" for none
	suspended      bool   // marked to get no new volumes
	mounts         map[ref]mount
}

// mount is a host's side of a datastore.
type mount struct {
	accessible bool
	reason     string // why not accessible
	readOnly   bool
}

func newInventory() *inventory {
	return &inventory{
		vms:        map[ref]*vm{},
		byUUID:     map[match.UUID][]*vm{},
		unknown:    map[ref]*vm{},
		departed:   map[match.UUID]ref{},
		entities:   map[ref]entity{},
		datastores: map[ref]*datastore{},
	}
}

// find returns the VMs with a BIOS UUID in the given byte order.
func (p *inventory) find(u match.UUID) []*vm {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byUUID[u]
}

// name returns an object's inventory name, or its reference if the name is unknown. The lock is held.
func (p *inventory) name(r ref) string {
	if e, ok := p.entities[r]; ok && e.name != "" {
		return e.name
	}
	if v := p.vms[r]; v != nil {
		return v.name
	}
	return r.Value
}

// up returns the object above r: for a VM its folder or, in a vApp, its pool. The lock is held.
func (p *inventory) up(r ref) ref {
	if v := p.vms[r]; v != nil {
		if v.parent.Value != "" {
			return v.parent
		}
		return v.pool
	}
	return p.entities[r].parent
}

// datacenter returns the datacenter of a VM. The lock is held.
func (p *inventory) datacenter(v *vm) (dc ref, ok bool) {
	for _, start := range [...]ref{v.parent, v.host, v.pool} {
		for r, n := start, 0; r.Value != "" && n < maxDepth; r, n = p.up(r), n+1 {
			if r.Type == "Datacenter" {
				return r, true
			}
		}
	}
	return ref{}, false
}

// inside reports whether a VM is in one of the datacenters; true without any.
func (p *inventory) inside(v *vm, datacenters []string) bool {
	if len(datacenters) == 0 {
		return true
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	dc, ok := p.datacenter(v)
	return ok && slices.ContainsFunc(datacenters, func(want string) bool { return p.matchesDatacenter(dc, want) })
}

// scope returns the configured datacenters, or all if none are configured, and the configured ones that do not exist.
func (p *inventory) scope(configured []string) (found []ref, missing []string) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	have := map[string]bool{}
	for r := range p.entities {
		if r.Type != "Datacenter" {
			continue
		}
		wanted := len(configured) == 0
		for _, want := range configured {
			if p.matchesDatacenter(r, want) {
				wanted, have[want] = true, true
			}
		}
		if wanted {
			found = append(found, r)
		}
	}
	for _, want := range configured {
		if !have[want] {
			missing = append(missing, want)
		}
	}
	return found, missing
}

// matchesDatacenter reports whether want, a name, an inventory path or a reference, identifies the datacenter. The lock is held.
func (p *inventory) matchesDatacenter(dc ref, want string) bool {
	switch {
	case want == dc.String():
		return true
	case strings.Contains(want, "/"):
		path := ""
		for r, n := dc, 0; n < maxDepth; n++ {
			e, ok := p.entities[r]
			if !ok {
				break
			}
			path, r = "/"+e.name+path, e.parent
		}
		return strings.Trim(want, "/") == strings.Trim(path, "/") // the root folder is not watched
	}
	return want == p.entities[dc].name
}

// unidentified returns a VM whose UUID is not known, or nil.
func (p *inventory) unidentified() (found *vm) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, v := range p.unknown {
		if found == nil || v.ref.Value < found.ref.Value {
			found = v
		}
	}
	return found
}
