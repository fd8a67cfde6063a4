package rest

import (
	"slices"
	"sync"
	"time"
)

// maxDetails bounds what is remembered of sessions whose end we are not told of.
const maxDetails = 8192

// detail is what a session tells of itself.
type detail struct {
	User     string `json:"user"`
	Created  string `json:"created_time"`
	Accessed string `json:"last_accessed_time"`

	accessed time.Time
}

// details remembers when sessions were opened and used. What it has forgotten of a session that lives begins anew.
type details struct {
	mu sync.Mutex
	of map[string]*detail
}

// stamp is a time as vCenter writes it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (d *details) open(id, user string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(id, user, now)
}

// add is called with the lock held.
func (d *details) add(id, user string, now time.Time) {
	if len(d.of) >= maxDetails {
		d.forget()
	}
	d.of[id] = &detail{User: user, Created: stamp(now), accessed: now}
}

// forget drops the half that was not used for longest.
func (d *details) forget() {
	all := make([]string, 0, len(d.of))
	for id := range d.of {
		all = append(all, id)
	}
	slices.SortFunc(all, func(a, b string) int { return d.of[a].accessed.Compare(d.of[b].accessed) })
	for _, id := range all[:len(all)/2] {
		delete(d.of, id)
	}
}

func (d *details) touch(id, user string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.of[id]; s != nil {
		s.accessed = now
		return
	}
	d.add(id, user, now)
}

func (d *details) drop(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, id)
}

// get is called for a session that was just touched.
func (d *details) get(id string) detail {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.of[id]
	if s == nil { // ended in between
		return detail{}
	}
	out := *s
	out.Accessed = stamp(s.accessed)
	return out
}
