package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// serveAPI opens the control API. It is up before anything that takes time, so that every other command can see the boot.
func (s *Sandbox) serveAPI(context.Context) (err error) {
	s.server, err = control.Listen(s.opts.Dir.SocketPath(), s.routes(), s.opts.Logger)
	return err
}

func (s *Sandbox) closeAPI(ctx context.Context) error { return s.server.Close(ctx) }

func (s *Sandbox) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /v1/status", control.Answer(func(context.Context) (any, error) { return s.Status(), nil }))
	mux.Handle("GET /v1/vcenters", control.Answer(func(context.Context) (any, error) { return s.vcenterRows(), nil }))
	mux.Handle("GET /v1/datacenters", s.listing(func() any { return s.world.Datacenters() }))
	mux.Handle("GET /v1/hosts", s.listing(func() any { return s.world.Hosts() }))
	mux.Handle("GET /v1/vms", s.listing(func() any {
		rows := []api.VM{}
		for _, v := range s.world.VMs() {
			rows = append(rows, v.VM)
		}
		return rows
	}))
	mux.Handle("GET /v1/nodes", s.listing(func() any { return s.Nodes() }))
	mux.Handle("GET /v1/zones", s.listing(func() any { return s.world.Zones() }))
	mux.Handle("GET /v1/secrets", control.Answer(func(context.Context) (any, error) { return s.Secrets(), nil }))
	mux.Handle("GET /v1/access", control.Answer(func(context.Context) (any, error) { return s.Access() }))
	mux.HandleFunc("GET /v1/events", control.Events(s.log))
	mux.Handle("POST /v1/vm", control.Request(s.act))
	mux.HandleFunc("POST /v1/topology", s.apply)
	mux.Handle("POST /v1/faults", control.Request(s.faults.Inject))
	mux.Handle("POST /v1/heal", control.Request(s.faults.Heal))
	mux.Handle("GET /v1/leases", control.Answer(s.faults.Leases))
	mux.Handle("GET /v1/calls", control.Answer(s.calls))
	mux.Handle("GET /v1/machines", s.light)
	mux.HandleFunc("GET /v1/watch", s.watchCache.Stream(s.log))
	mux.HandleFunc("GET /v1/recording", func(w http.ResponseWriter, r *http.Request) { s.recorder.ServeHTTP(w, r) })
	mux.Handle("POST /v1/run", control.Request(s.watchCache.PublishRun))
	mux.Handle("GET /v1/fault-kinds", control.Answer(s.faults.Kinds))
	mux.Handle("POST /v1/gate", control.Request(s.setGate))
	mux.Handle("POST /v1/ccm", control.Request(func(ctx context.Context, r api.CCMRequest) (api.Done, error) { return s.ccm.Swap(ctx, r) }))
	mux.Handle("POST /v1/ccm/restart", control.Request(func(ctx context.Context, _ struct{}) (api.Done, error) { return s.ccm.Restart(ctx) }))
	mux.HandleFunc("GET /v1/metrics/{component}", s.serveMetrics)
	s.routeStorage(mux)
	inspector := s.inspector()
	mux.Handle("POST /v1/explain", control.Request(inspector.Explain))
	mux.Handle("POST /v1/inspect", control.Request(inspector.Inspect))
	mux.Handle("POST /v1/stop", control.Request(func(context.Context, struct{}) (api.Done, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		select {
		case <-s.asked:
			return api.Done{Message: "stopping already"}, nil
		default:
			close(s.asked)
			return api.Done{Message: "stopping"}, nil
		}
	}))
	return mux
}

// listing answers with what the world shows, once there is one.
func (s *Sandbox) listing(rows func() any) http.Handler {
	return control.Answer(func(ctx context.Context) (any, error) {
		if err := s.built(); err != nil {
			return nil, err
		}
		s.tags.Refresh(ctx)
		return rows(), nil
	})
}

// built returns an error as long as there are no vCenters. What the boot sets before the world may be read once there is
// a world.
func (s *Sandbox) built() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.world == nil {
		return api.NotBuilt()
	}
	return nil
}

// Status sums the sandbox up.
func (s *Sandbox) Status() api.Status {
	s.mu.Lock()
	st := api.Status{
		Name: s.opts.Name, Phase: s.phase, PID: os.Getpid(), Scenario: s.current.Metadata.Name,
		Speed: float64(s.opts.Speed), StartedAt: s.start, Dir: s.opts.Dir.Path(),
		Version: build.Version(), KubernetesVersion: build.Kubernetes(),
	}
	if s.at.Name != "" {
		st.Step = s.at.Name
		if s.at.Detail != "" {
			st.Step += ": " + s.at.Detail
		}
	}
	if !s.readyAt.IsZero() {
		readyAt := s.readyAt
		st.ReadyAt = &readyAt
	}
	if s.cluster != nil {
		st.Server, st.Kubeconfig, st.Context = s.cluster.Server(), s.cluster.Kubeconfig(), s.cluster.Context()
	}
	booted := s.world != nil
	s.mu.Unlock()
	st.Ground = s.standsOn()
	st.LastEvent = s.log.Last()
	st.Components = s.componentRows()
	st.VCenters = []api.VCenter{}
	if booted {
		st.VCenters = s.vcenterRows()
		st.Nodes = s.world.Count()
	}
	return st
}

// setGate changes what clients get of a vCenter. The sandbox's own connection is not affected.
func (s *Sandbox) setGate(ctx context.Context, r api.GateRequest) (api.Done, error) {
	if err := s.built(); err != nil {
		return api.Done{}, err
	}
	vc := s.vcenters.Find(r.VCenter)
	if vc == nil {
		return api.Done{}, &api.Error{Code: "not-found", Message: fmt.Sprintf("vcenter %q: no such vCenter", r.VCenter), Try: "vsphere-sandbox get vcenters"}
	}
	mode := gate.Mode{State: gate.State(r.Mode), Delay: time.Duration(r.Delay)}
	if err := vc.Gate().Set(ctx, mode); err != nil {
		return api.Done{}, &api.Error{Code: "invalid", Message: fmt.Sprintf("vcenter %q: %v", r.VCenter, err)}
	}
	return api.Done{Message: fmt.Sprintf("vcenter %q is %s", r.VCenter, mode), Seq: s.log.Last()}, nil
}

// vcenterRows describes the vCenters in topology order.
func (s *Sandbox) vcenterRows() []api.VCenter {
	rows := []api.VCenter{}
	if s.built() != nil {
		return rows
	}
	for _, vc := range s.vcenters {
		rows = append(rows, vc.Row())
	}
	return rows
}

// Access tells how to log in to each vCenter.
func (s *Sandbox) Access() ([]api.Access, error) {
	if err := s.built(); err != nil {
		return nil, err
	}
	rows := []api.Access{}
	for _, vc := range s.vcenters {
		rows = append(rows, api.Access{
			VCenter: vc.Name(), URL: vc.URL().String(), User: vc.User(), Password: vc.Password(), CAFile: s.vcenterCA(),
		})
	}
	return rows, nil
}
