package access

import (
	"sync"

	"github.com/vmware/govmomi/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// view is what a user may do where, as far as it was asked. It is good as long as rules and tree are as they were.
type view struct {
	user  *account
	rules *rules
	tree  *tree
	moved uint64

	mu    sync.RWMutex
	roles map[vc.Ref][]*role
	way   map[vc.Ref]struct{} // nil until asked for
}

// view returns the user's view.
func (m *Manager) view(r *rules, a *account) *view {
	moved := m.tree.moved.Load()
	if old, ok := m.views.Load(a); ok {
		if v := old.(*view); v.rules == r && v.moved == moved {
			return v
		}
	}
	v := &view{user: a, rules: r, tree: m.tree, moved: moved, roles: make(map[vc.Ref][]*role)}
	m.views.Store(a, v)
	return v
}

// effective returns the user's roles on an entity.
func (v *view) effective(ctx *simulator.Context, on vc.Ref) []*role {
	v.mu.RLock()
	roles, known := v.roles[on]
	v.mu.RUnlock()
	if known {
		return roles
	}
	settled := true
	roles = v.rules.effective(v.user, on, func(ref vc.Ref) []vc.Ref {
		above := v.tree.above(ctx, ref)
		// A VM that is being created gets its pool without notice.
		settled = settled && (len(above) > 1 || ref.Type != "VirtualMachine")
		return above
	})
	if settled && v.tree.has(on) {
		v.mu.Lock()
		v.roles[on] = roles
		v.mu.Unlock()
	}
	return roles
}

// onTheWay tells whether the entity is above one on which the user has a permission to see it: vCenter lets users see
// the way to what they may see (its role View).
func (v *view) onTheWay(ctx *simulator.Context, on vc.Ref) bool {
	v.mu.RLock()
	way := v.way
	v.mu.RUnlock()
	if way == nil {
		way = v.findWay(ctx)
		v.mu.Lock()
		v.way = way
		v.mu.Unlock()
	}
	_, ok := way[on]
	return ok
}

func (v *view) findWay(ctx *simulator.Context) map[vc.Ref]struct{} {
	way := make(map[vc.Ref]struct{})
	var up func(vc.Ref)
	up = func(ref vc.Ref) {
		for _, p := range v.tree.above(ctx, ref) {
			if _, again := way[p]; !again {
				way[p] = struct{}{}
				up(p)
			}
		}
	}
	for ref := range v.rules.granted {
		if roles, found := v.rules.at(v.user, ref, false); found && has(roles, viewPrivilege) {
			up(ref)
		}
	}
	return way
}
