package causality

import "sync"

// Ongoing holds the events for which something is being done to components now. The zero value is ready to use, from any
// goroutine.
type Ongoing struct {
	mu   sync.Mutex
	seqs map[string][]uint64
}

// Begin sets the event until end is called; of two at once the later one counts.
func (c *Ongoing) Begin(component string, seq uint64) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seqs == nil {
		c.seqs = map[string][]uint64{}
	}
	c.seqs[component] = append(c.seqs[component], seq)
	return sync.OnceFunc(func() { c.remove(component, seq) })
}

func (c *Ongoing) remove(component string, seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.seqs[component]
	for i, s := range list {
		if s == seq {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(c.seqs, component)
		return
	}
	c.seqs[component] = list
}

// Of returns the event, 0 for none.
func (c *Ongoing) Of(component string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list := c.seqs[component]; len(list) > 0 {
		return list[len(list)-1]
	}
	return 0
}
