package lab

import (
	"slices"
	"sync"
)

// exits are the ends of a process that nobody asked for. They have a lock of their own: they are told while CCM.Start
// waits.
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
