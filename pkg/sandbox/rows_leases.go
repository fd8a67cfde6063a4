package sandbox

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// maxHealed is how many leases that are healed stay in the table: as many as their engine remembers.
const maxHealed = 1000

// lease tells of a fault. Of leases that are healed only the newest stay in the table.
func (r *rows) lease(l api.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := "lease/" + l.ID
	if r.table[key] == nil {
		r.leases = append(r.leases, key)
	}
	r.set(key, api.Update{Lease: &l})
	healed := func(key string) bool { return r.table[key].update.Lease.State == string(fault.Healed) }
	over := -maxHealed
	for _, key := range r.leases {
		if healed(key) {
			over++
		}
	}
	r.leases = slices.DeleteFunc(r.leases, func(key string) bool {
		if over <= 0 || !healed(key) {
			return false
		}
		over--
		r.drop(key)
		return true
	})
}
