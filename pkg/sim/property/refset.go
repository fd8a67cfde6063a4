package property

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// refSet is a set of references that can be read as a list at no cost. The
// order is that of addition until something is removed. The zero value is empty.
type refSet struct {
	list []types.ManagedObjectReference
	at   map[types.ManagedObjectReference]int
}

func (s *refSet) has(ref types.ManagedObjectReference) bool {
	_, ok := s.at[ref]
	return ok
}

// add says whether the reference is new.
func (s *refSet) add(ref types.ManagedObjectReference) bool {
	if s.has(ref) {
		return false
	}
	if s.at == nil {
		s.at = make(map[types.ManagedObjectReference]int)
	}
	s.at[ref] = len(s.list)
	s.list = append(s.list, ref)
	return true
}

// remove says whether the reference was there. The last one takes its place.
func (s *refSet) remove(ref types.ManagedObjectReference) bool {
	i, ok := s.at[ref]
	if !ok {
		return false
	}
	last := len(s.list) - 1
	s.list[i] = s.list[last]
	s.at[s.list[i]] = i
	s.list = s.list[:last]
	delete(s.at, ref)
	return true
}

func (s *refSet) copy() []types.ManagedObjectReference { return slices.Clone(s.list) }
