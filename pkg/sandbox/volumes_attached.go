package sandbox

import (
	"slices"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// held remembers which volumes each VM has, to tell which have come and which have gone. The zero value is ready to
// use, from any goroutine.
type held struct {
	mu sync.Mutex
	of map[vmKey][]string
}

// change returns the volumes that a VM has not had before, or has no more.
func (a *held) change(v world.VM) (changed []string) {
	var now []string
	if v.Exists {
		for _, d := range v.Disks {
			if d.Volume != "" {
				now = append(now, d.Volume)
			}
		}
	}
	key := vmKey{v.VCenter, v.Ref}
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.of[key]
	for _, id := range now {
		if !slices.Contains(was, id) {
			changed = append(changed, id)
		}
	}
	for _, id := range was {
		if !slices.Contains(now, id) {
			changed = append(changed, id)
		}
	}
	if a.of == nil {
		a.of = map[vmKey][]string{}
	}
	if a.of[key] = now; len(now) == 0 {
		delete(a.of, key)
	}
	return changed
}
