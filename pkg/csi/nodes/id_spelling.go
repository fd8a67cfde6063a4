package nodes

import (
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

const maxSpellings = 100_000

// idSpelling remembers how Kubernetes spells the ids of nodes. It compares them literally, and a node service may have read its
// UUID in the other byte order, or in capitals. Only ids that differ from the vCenter's form are kept. The zero value is
// ready to use.
type idSpelling struct {
	mu sync.Mutex
	as map[match.UUID]string
}

func (s *idSpelling) learn(u match.UUID, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == u.String() {
		delete(s.as, u)
		return
	}
	if s.as == nil || len(s.as) >= maxSpellings {
		s.as = map[match.UUID]string{}
	}
	s.as[u] = id
}

func (s *idSpelling) of(u match.UUID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.as[u]; ok {
		return id
	}
	return u.String()
}
