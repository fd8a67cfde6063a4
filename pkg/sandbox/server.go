package sandbox

import (
	"context"
	"net/http"
	"os"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// routes returns the control API: the handlers of all parts, and those of the sandbox itself.
func (s *Sandbox) routes() http.Handler {
	mux := http.NewServeMux()
	for _, part := range []interface{ Register(*http.ServeMux) }{
		&s.listing, &s.tracer, &s.actions, s.desired, s.faults, &s.volumes, s.inspector, &s.files, &s.secrets, &s.nsx, &s.supervisor, &s.services,
	} {
		part.Register(mux)
	}
	s.registerPrograms(mux)
	s.snapshots.register(mux)
	mux.Handle("GET /v1/status", control.Answer(func(context.Context) (any, error) { return s.Status(), nil }))
	mux.HandleFunc("GET /v1/events", control.Events(s.log))
	mux.HandleFunc("GET /v1/watch", s.watchCache.Stream(s.log))
	mux.Handle("POST /v1/run", control.Request(s.watchCache.PublishRun))
	mux.HandleFunc("GET /v1/machines", func(w http.ResponseWriter, r *http.Request) { s.nodes.Feed().ServeHTTP(w, r) }) // a restore makes a new one
	mux.Handle("POST /v1/stop", control.Request(func(context.Context, struct{}) (api.Done, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !askStop(s) {
			return api.Done{Message: "stopping already"}, nil
		}
		return api.Done{Message: "stopping"}, nil
	}))
	return mux
}

// built returns an error as long as there are no vCenters. After it returns nil, callers may read what the boot sets before
// the world.
func (s *Sandbox) built() error {
	if s.currentWorld() == nil {
		return api.NotBuilt()
	}
	return nil
}

// currentWorld returns nil as long as there are no vCenters.
func (s *Sandbox) currentWorld() *world.World {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.world
}

// client returns the administrator's client of the cluster, nil as long as there is no cluster.
func (s *Sandbox) client() kubernetes.Interface {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil {
		return nil
	}
	return s.cluster.Client()
}

// Status summarizes the sandbox.
func (s *Sandbox) Status() api.Status {
	st := api.Status{
		Name: s.opts.Name, PID: os.Getpid(), Topology: s.desired.Topology().Metadata.Name,
		Speed: float64(s.opts.Speed), StartedAt: s.start, Dir: s.opts.Dir.Path(),
		Version: build.Version(), KubernetesVersion: s.version.of(&s.opts.Cluster, s.client()), KubernetesProgram: s.opts.Cluster.Kubernetes.Path,
		Ground: s.standsOn(), LastEvent: s.log.Last(), Components: s.components.Rows(), VCenters: s.listing.Rows(),
	}
	s.boot.AddTo(&st)
	if w := s.currentWorld(); w != nil {
		st.Nodes = w.Count()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.cluster.(cluster.SecurePorts); ok {
		st.ControllerManager, st.Scheduler = c.ControllerManager(), c.Scheduler()
	}
	if s.cluster != nil {
		st.Server, st.Kubeconfig, st.Context = s.cluster.Server(), s.cluster.Kubeconfig(), s.cluster.Context()
	}
	return st
}

// Access returns how to log in to each vCenter.
func (s *Sandbox) Access() ([]api.Access, error) { return s.listing.Access() }

// Nodes lists the Nodes, present and missing ones.
func (s *Sandbox) Nodes() []api.Node { return s.watchCache.CountPods(s.world.Nodes()) }

// Datacenters lists those of all vCenters.
func (s *Sandbox) Datacenters() []api.Datacenter { return s.world.Datacenters() }
