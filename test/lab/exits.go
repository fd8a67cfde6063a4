package lab

import (
	"slices"
	"sync"
)

// exits are the unexpected exits of a process. They have a separate lock: they are recorded while CCM.Start waits.
type exits struct {
	mu   sync.Mutex
	list []string
}

func (e *exits) add(how string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, how)
}

func (e *exits) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.list)
}
