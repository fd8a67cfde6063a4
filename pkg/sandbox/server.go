package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 1 << 20

// serveAPI opens the control API on a socket for the owner only. It is up before anything that takes time, so that
// every other command can see the boot.
func (s *Sandbox) serveAPI(context.Context) error {
	path := s.opts.Dir.SocketPath()
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	// Streams end with the sandbox, not with their reader's patience.
	ctx, cancel := context.WithCancel(context.Background())
	s.server = &http.Server{
		Handler:           s.routes(),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
	}
	s.server.RegisterOnShutdown(cancel)
	s.background.run("control API", func(context.Context) {
		defer cancel()
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Logger.Error("control API", "err", err)
		}
	})
	return nil
}

// lastWords is how long readers have, when the control API ends, to read what they have been told.
const lastWords = 2 * time.Second

// closeAPI ends the control API, and cuts off readers that do not read any more, as one that was suspended with Ctrl-Z.
func (s *Sandbox) closeAPI(ctx context.Context) error {
	if s.server == nil {
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	err := s.server.Shutdown(patient)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close()
	}
	return errors.Join(err, s.background.end(ctx, "control API"))
}

func (s *Sandbox) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /v1/status", answer(func(context.Context) (any, error) { return s.Status(), nil }))
	mux.Handle("GET /v1/vcenters", answer(func(context.Context) (any, error) { return s.vcenterRows(), nil }))
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
	mux.Handle("GET /v1/secrets", answer(func(context.Context) (any, error) { return s.Secrets(), nil }))
	mux.Handle("GET /v1/access", answer(func(context.Context) (any, error) { return s.Access() }))
	mux.HandleFunc("GET /v1/events", s.streamEvents)
	mux.Handle("POST /v1/vm", request(s.act))
	mux.HandleFunc("POST /v1/topology", s.apply)
	mux.Handle("POST /v1/faults", request(s.inject))
	mux.Handle("POST /v1/heal", request(s.heal))
	mux.Handle("GET /v1/leases", answer(s.leaseList))
	mux.Handle("GET /v1/calls", answer(s.calls))
	mux.Handle("GET /v1/machines", s.light)
	mux.HandleFunc("GET /v1/watch", s.streamUpdates)
	mux.HandleFunc("GET /v1/recording", s.streamRecording)
	mux.Handle("POST /v1/run", request(s.publish))
	mux.Handle("GET /v1/fault-kinds", answer(s.faultKinds))
	mux.Handle("POST /v1/gate", request(s.setGate))
	s.routeCCM(mux)
	s.routeStorage(mux)
	s.routeWhy(mux)
	mux.Handle("POST /v1/stop", request(func(context.Context, struct{}) (api.Done, error) {
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
	return answer(func(ctx context.Context) (any, error) {
		if err := s.built(); err != nil {
			return nil, err
		}
		s.refreshTags(ctx)
		return rows(), nil
	})
}

// built returns an error as long as there are no vCenters. What the boot sets before the world may be read once there is
// a world.
func (s *Sandbox) built() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.world == nil {
		return errNotBuilt()
	}
	return nil
}

func errNotBuilt() error {
	return &api.Error{Code: "unavailable", Message: "the sandbox has not built its vCenters yet", Try: "vsphere-sandbox wait --for=ready"}
}

// answer makes a handler of a function that returns what is to be sent.
func answer(f func(context.Context) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r.Context())
		reply(w, v, err)
	})
}

// request makes a handler of a function that takes a JSON body.
func request[In, Out any](f func(context.Context, In) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in In
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			reply(w, nil, &api.Error{Code: "invalid", Message: "request: " + err.Error()})
			return
		}
		out, err := f(r.Context(), in)
		reply(w, out, err)
	})
}

var statusOf = map[string]int{
	"not-found": http.StatusNotFound, "ambiguous": http.StatusConflict, "conflict": http.StatusConflict,
	"unavailable": http.StatusServiceUnavailable, "invalid": http.StatusBadRequest, "unchangeable": http.StatusConflict,
	"unsupported": http.StatusUnprocessableEntity, "refused": http.StatusForbidden, "unconfirmed": http.StatusPreconditionRequired,
}

func reply(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		var e *api.Error
		if !errors.As(err, &e) {
			e = &api.Error{Code: "internal", Message: err.Error()}
		}
		status, ok := statusOf[e.Code]
		if !ok {
			status = http.StatusInternalServerError
		}
		w.WriteHeader(status)
		v = e
	}
	_ = json.NewEncoder(w).Encode(v) // the only error is a reader who left
}

// streamEvents sends events a line each.
func (s *Sandbox) streamEvents(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		reply(w, nil, &api.Error{Code: "invalid", Message: fmt.Sprintf("after: %v", err)})
		return
	}
	follow := r.URL.Query().Get("follow") == "true"
	w.Header().Set("Content-Type", "application/jsonl")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w).Flush
	_ = flush()
	enc := json.NewEncoder(w)
	for {
		events, lost := s.log.Read(after, 1024)
		if len(events) == 0 {
			if !follow {
				return
			}
			if events, lost, err = s.log.Wait(r.Context(), after, 1024); err != nil {
				return
			}
		}
		for _, e := range events {
			if enc.Encode(api.EventLine{Event: e, Lost: lost}) != nil {
				return
			}
			after, lost = e.Seq, 0
		}
		if flush() != nil {
			return
		}
	}
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
