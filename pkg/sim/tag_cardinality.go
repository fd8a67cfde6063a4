package sim

import (
	"fmt"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
)

// widened are the categories that temporarily allow several tags per object.
type widened struct {
	mu sync.Mutex
	by map[string]*widening
}

type widening struct {
	was   string // its cardinality
	times int
}

// AllowSeveralTags lets objects have several tags of the category, until it was called with several == false as many times. A
// vCenter's API can only widen a category. Objects keep their tags.
func (v *VCenter) AllowSeveralTags(category string, several bool) error {
	w := &v.widened
	w.mu.Lock()
	defer w.mu.Unlock()
	is := w.by[category]
	switch {
	case several && is != nil:
		is.times++
		return nil
	case several:
		was, err := v.service.rest.SetCardinality(category, rest.Multiple)
		if err != nil {
			return fmt.Errorf("vcenter %q: tag category %s: %w", v.spec.Name, category, err)
		}
		if w.by == nil {
			w.by = make(map[string]*widening)
		}
		w.by[category] = &widening{was: was, times: 1}
		return nil
	case is == nil:
		return nil
	}
	if is.times--; is.times > 0 {
		return nil
	}
	delete(w.by, category)
	_, _ = v.service.rest.SetCardinality(category, is.was) // it may be gone
	return nil
}
