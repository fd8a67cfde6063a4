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

// maxDepth bounds a climb: a vCenter may tell a loop while things move.
const maxDepth = 256

// picture is what is known of one vCenter. Values in its maps are replaced, never changed, so that they can be handed out.
type picture struct {
	mu         sync.RWMutex
	vms        map[ref]*vm
	byUUID     map[match.UUID][]*vm
	unknown    map[ref]*vm // those whose UUID was never told
	departed   map[match.UUID]ref
	entities   map[ref]entity
	datastores map[ref]*datastore
}

// vm is one virtual machine.
type vm struct {
	ref                ref
	name               string
	uuid               match.UUID // zero when none was told yet
	template           bool
	host, parent, pool ref // zero when unknown
}

// entity is an object above the VMs.
type entity struct {
	name   string
	parent ref
	away   bool // of a host: the vCenter has lost it, and what it said last may be no longer so
}

// datastore is one datastore and the hosts that mount it.
type datastore struct {
	ref            ref
	name, url      string
	capacity, free int64 // bytes
	accessible     bool
	maintenance    string // "normal" when it is in none
	suspended      bool   // its administrator wants no new volumes on it
	mounts         map[ref]mount
}

// mount is a host's side of a datastore.
type mount struct {
	accessible bool
	reason     string // why not
	readOnly   bool
}

func newPicture() *picture {
	return &picture{
		vms:        map[ref]*vm{},
		byUUID:     map[match.UUID][]*vm{},
		unknown:    map[ref]*vm{},
		departed:   map[match.UUID]ref{},
		entities:   map[ref]entity{},
		datastores: map[ref]*datastore{},
	}
}

// find returns the VMs of a BIOS UUID in the given byte order; templates are no nodes.
func (p *picture) find(u match.UUID) []*vm {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byUUID[u]
}

// name returns an object's inventory name, or its reference while that is not known. The lock is held.
func (p *picture) name(r ref) string {
	if e, ok := p.entities[r]; ok && e.name != "" {
		return e.name
	}
	if v := p.vms[r]; v != nil {
		return v.name
	}
	return r.Value
}

// up returns the object above one that is no VM; of a VM, its folder or, in a vApp, its pool. The lock is held.
func (p *picture) up(r ref) ref {
	if v := p.vms[r]; v != nil {
		if v.parent.Value != "" {
			return v.parent
		}
		return v.pool
	}
	return p.entities[r].parent
}

// datacenter returns the datacenter that a VM lies in. The lock is held.
func (p *picture) datacenter(v *vm) (dc ref, ok bool) {
	for _, start := range [...]ref{v.parent, v.host, v.pool} {
		for r, n := start, 0; r.Value != "" && n < maxDepth; r, n = p.up(r), n+1 {
			if r.Type == "Datacenter" {
				return r, true
			}
		}
	}
	return ref{}, false
}

// inside reports whether a VM lies in one of the datacenters, always when there are none.
func (p *picture) inside(v *vm, datacenters []string) bool {
	if len(datacenters) == 0 {
		return true
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	dc, ok := p.datacenter(v)
	return ok && slices.ContainsFunc(datacenters, func(want string) bool { return p.is(dc, want) })
}

// scope returns the datacenters that are configured, all when none are, and those configured that are not there.
func (p *picture) scope(configured []string) (found []ref, missing []string) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	have := map[string]bool{}
	for r := range p.entities {
		if r.Type != "Datacenter" {
			continue
		}
		wanted := len(configured) == 0
		for _, want := range configured {
			if p.is(r, want) {
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

// is reports whether want, a name, an inventory path or a reference, means the datacenter. The lock is held.
func (p *picture) is(dc ref, want string) bool {
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

// unidentified returns a VM that may be any, nil when there is none.
func (p *picture) unidentified() (found *vm) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, v := range p.unknown {
		if found == nil || v.ref.Value < found.ref.Value {
			found = v
		}
	}
	return found
}
