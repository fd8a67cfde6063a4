package rest

import (
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// store is the tags of one vCenter with what they are attached to. Its lock is a leaf: nothing is called with it held, so
// it may be used under the locks of vcsim's objects.
type store struct {
	lenient bool // nothing is checked, as in vcsim

	mu         sync.RWMutex
	made       uint64               // orders categories and tags
	categories map[string]*category // by ID
	names      map[string]*category
	tags       map[string]*tag // by ID
	objects    map[vc.Ref][]*tag
}

type category struct {
	Category
	order uint64
	names map[string]*tag
}

type tag struct {
	Tag
	order    uint64
	category *category
	objects  map[vc.Ref]struct{}
}

// label names the tag for people.
func (t *tag) label() string { return t.category.Name + "/" + t.Name }

func newStore(lenient bool) *store {
	s := &store{lenient: lenient}
	s.clear()
	return s
}

func (s *store) clear() {
	s.categories = make(map[string]*category)
	s.names = make(map[string]*category)
	s.tags = make(map[string]*tag)
	s.objects = make(map[vc.Ref][]*tag)
}

func (s *store) next() uint64 {
	s.made++
	return s.made
}

// plain is the reference without the vCenter's identifier, which some clients send along.
func plain(ref vc.Ref) vc.Ref { return vc.Ref{Type: ref.Type, Value: ref.Value} }
