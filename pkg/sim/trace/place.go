package trace

// Place is where a call is in what a recorder has written.
type Place struct {
	// Number counts the calls, from 1.
	Number int
	// Offset and Size are those of the call's line, in bytes.
	Offset, Size int64
}

// maxPlaces limits the kinds of calls whose newest place is kept, for clients that invent names.
const maxPlaces = 4096

// kind is what calls are looked up by.
type kind struct{ vcenter, client, method string }

// places are the newest call of each kind.
type places struct {
	by     map[kind]Place
	newest Place
}

// add appends a call that is written. Beyond the limit, the kind that was called the longest time ago is forgotten.
func (p *places) add(k kind, size int64) {
	p.newest = Place{p.newest.Number + 1, p.newest.Offset + p.newest.Size, size}
	if _, known := p.by[k]; !known && len(p.by) >= maxPlaces {
		oldest, first := kind{}, p.newest.Number
		for k, one := range p.by {
			if one.Number < first {
				oldest, first = k, one.Number
			}
		}
		delete(p.by, oldest)
	}
	p.by[k] = p.newest
}

// find returns the newest call of a kind, in which "" is any.
func (p *places) find(want kind) (newest Place) {
	for k, one := range p.by {
		if one.Number > newest.Number &&
			(want.vcenter == "" || k.vcenter == want.vcenter) && (want.client == "" || k.client == want.client) && (want.method == "" || k.method == want.method) {
			newest = one
		}
	}
	return newest
}

// Last returns the place of the newest written call of a vCenter, a client (its whole User-Agent) and a method; "" is any. It returns
// false if no such call is written, and if calls of 4,096 other kinds came after it.
func (r *Recorder) Last(vcenter, client, method string) (Place, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places.find(kind{vcenter, client, method})
	return p, p.Number > 0
}
