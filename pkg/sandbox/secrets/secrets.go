// Package secrets knows the secrets of a sandbox: passwords, tokens, sessions, and what the Secrets of its cluster have. Clients
// of the control API read them to mask them in what they print and export.
//
// Floor 3.
package secrets

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
)

// maxSessions bounds how many sessions are kept: each takes a line of the store, and time of each masking. Later ones are known
// while they are open.
const maxSessions = 2000

// Secrets keeps secrets in the store of the instance. Set its fields before [Secrets.Open]; before that it keeps nothing. Its
// methods may be called from any goroutine.
type Secrets struct {
	Dir    *instance.Dir
	Logger *slog.Logger
	// VCenters is empty before their inventories are watched.
	VCenters func() vcenters.List

	mu       sync.Mutex
	store    *secret.Store
	sessions int // that were kept
}

// Open opens the store, unless it is open.
func (s *Secrets) Open() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		s.store, err = secret.Open(s.Dir.Path())
	}
	return err
}

// Store returns the store, nil before [Secrets.Open]. A nil store keeps nothing.
func (s *Secrets) Store() *secret.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store
}

// Close closes the store.
func (s *Secrets) Close() error { return s.Store().Close() }

// Know keeps secrets.
func (s *Secrets) Know(values ...string) error { return s.Store().Add(values...) }

// KnowSession keeps the cookie of a client's session in a vCenter. A session in a real vCenter may outlive the sandbox.
func (s *Secrets) KnowSession(session string) {
	s.mu.Lock()
	s.sessions++
	over := s.sessions > maxSessions
	s.mu.Unlock()
	if over {
		return
	}
	if err := s.Know(session); err != nil {
		s.Logger.Error("secrets", "err", err)
	}
}

// KnowObject keeps the values of a Secret of the cluster.
func (s *Secrets) KnowObject(o *corev1.Secret) {
	if err := s.Know(slices.Collect(maps.Values(secret.Of(o.Data)))...); err != nil {
		s.Logger.Error("secrets", "secret", o.Namespace+"/"+o.Name, "err", err)
	}
}

// Values returns the secrets that were kept, and what opens the vCenters now.
func (s *Secrets) Values() []string {
	all := s.Store().Values()
	for _, vc := range s.VCenters() {
		all = append(all, vc.Secrets()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Register adds the handler of the control API.
func (s *Secrets) Register(mux *http.ServeMux) {
	mux.Handle("GET /v1/secrets", control.Answer(func(context.Context) ([]string, error) { return s.Values(), nil }))
}
