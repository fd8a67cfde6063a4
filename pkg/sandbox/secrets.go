package sandbox

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
)

// openSecrets opens the store of the instance's secrets, unless it is open.
func (s *Sandbox) openSecrets() (err error) {
	if s.secrets == nil {
		s.secrets, err = secret.Open(s.opts.Dir.Path())
	}
	return err
}

// Secrets are those that the sandbox has known up to now, and what opens its vCenters now.
func (s *Sandbox) Secrets() []string {
	all := s.secrets.Values()
	if s.built() != nil {
		return all
	}
	for _, vc := range s.vcenters {
		all = append(all, vc.Secrets()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// watchSecrets follows what the Secrets of the cluster hold, if the cluster was made for the sandbox: where it was not,
// Secrets are none of its business, but for the one that it writes itself.
func (s *Sandbox) watchSecrets(factory informers.SharedInformerFactory) error {
	if _, shared := s.ground.(ground.Shared); shared {
		return nil
	}
	return storage.Follow(factory.Core().V1().Secrets().Informer(), func(_, o *corev1.Secret, gone bool) {
		if !gone {
			s.knowSecret(o)
		}
	})
}

func (s *Sandbox) knowSecret(o *corev1.Secret) {
	if err := s.secrets.Add(slices.Collect(maps.Values(secret.Of(o.Data)))...); err != nil {
		s.opts.Logger.Error("secrets", "secret", o.Namespace+"/"+o.Name, "err", err)
	}
}

// mostSessions bounds how many sessions are known for good: each takes a line of the store, and time of each masking. Later
// ones are known while they are open.
const mostSessions = 2000

// knowSession knows what a client of a vCenter has to show. That of a real vCenter is good for longer than the sandbox.
func (s *Sandbox) knowSession(session string) {
	if s.sessions.Add(1) > mostSessions {
		return
	}
	if err := s.secrets.Add(session); err != nil {
		s.opts.Logger.Error("secrets", "err", err)
	}
}
