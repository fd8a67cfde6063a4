package rest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// eligible is why a tag cannot be attached to an object, in the two wordings that vCenter has; nil when it can. It is
// called with the lock held.
func (s *store) eligible(t *tag, ref vc.Ref) *ineligible {
	if s.lenient {
		return nil
	}
	c := t.category
	if inventory(ref) && len(c.AssociableTypes) > 0 && !slices.Contains(c.AssociableTypes, ref.Type) {
		return &ineligible{id: msgAssociable, short: "Tagging associability violation", because: "an associability violation"}
	}
	if c.Cardinality == Single {
		for _, other := range s.objects[ref] {
			if other != t && other.category == c {
				return &ineligible{id: msgCardinality, short: "Tagging cardinality violation", because: "a cardinality violation"}
			}
		}
	}
	return nil
}

// ineligible is why a tag cannot be attached.
type ineligible struct{ id, short, because string }

// Error is the wording of the call for a single tag and object (ansible-collections/community.vmware #1501).
func (e *ineligible) Error() string { return e.short }

// batch is the wording of the calls for several (govmomi #2211).
func (e *ineligible) batch(tag, object string) message {
	return message{
		Args:    []string{tag, object},
		Default: fmt.Sprintf("Tag %s is ineligible to attach to %s because of %s.", tag, object, e.because),
		ID:      e.id,
	}
}

// attach attaches the tag; changed is false if it already was. It fails with a fault or with [ineligible].
func (s *store) attach(id string, ref vc.Ref) (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tags[id]
	if t == nil {
		return false, missing(id)
	}
	if _, ok := t.objects[ref]; ok {
		return false, nil
	}
	if e := s.eligible(t, ref); e != nil {
		return false, e
	}
	t.objects[ref] = struct{}{}
	s.objects[ref] = append(s.objects[ref], t)
	return true, nil
}

// detach detaches the tag; changed is false if it was not attached.
func (s *store) detach(id string, ref vc.Ref) (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tags[id]
	if t == nil {
		return false, missing(id)
	}
	if _, ok := t.objects[ref]; !ok {
		return false, nil
	}
	s.unlink(t, ref)
	return true, nil
}

// unlink is called with the lock held.
func (s *store) unlink(t *tag, ref vc.Ref) {
	delete(t.objects, ref)
	left := slices.DeleteFunc(s.objects[ref], func(other *tag) bool { return other == t })
	if len(left) == 0 {
		delete(s.objects, ref)
		return
	}
	s.objects[ref] = left
}

// drop forgets an object that is gone.
func (s *store) drop(ref vc.Ref) {
	s.mu.RLock()
	n := len(s.objects[ref])
	s.mu.RUnlock()
	if n == 0 {
		return // as nearly always: tasks and views come and go
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.objects[ref] {
		delete(t.objects, ref)
	}
	delete(s.objects, ref)
}

// tagsOn lists the IDs of the object's tags in the order of their making.
func (s *store) tagsOn(ref vc.Ref) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tagIDs(ref)
}

// tagIDs is called with the lock held.
func (s *store) tagIDs(ref vc.Ref) []string { return ids(slices.Clone(s.objects[ref])) }

// tagsOnAll does it for many objects at one moment.
func (s *store) tagsOnAll(refs []vc.Ref) [][]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([][]string, len(refs))
	for i, ref := range refs {
		out[i] = s.tagIDs(ref)
	}
	return out
}

// objectsWith lists what the tag is attached to, by type and value.
func (s *store) objectsWith(id string) ([]vc.Ref, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tags[id]
	if t == nil {
		return nil, missing(id)
	}
	return sorted(t.objects), nil
}

// attachable lists the tags that could be attached to the object, and are not, in the order of their making.
func (s *store) attachable(ref vc.Ref) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := make([]*tag, 0, len(s.tags))
	for _, t := range s.tags {
		if _, attached := t.objects[ref]; !attached && s.eligible(t, ref) == nil {
			found = append(found, t)
		}
	}
	return ids(found)
}

func sorted(set map[vc.Ref]struct{}) []vc.Ref {
	refs := make([]vc.Ref, 0, len(set))
	for ref := range set {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b vc.Ref) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Value, b.Value))
	})
	return refs
}
