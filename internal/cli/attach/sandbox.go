package attach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Sandbox is a sandbox in a cluster. Make it with [New], give it its life with [Sandbox.Run]; its other methods may be called
// from any goroutine.
type Sandbox struct {
	opts  Options
	log   *event.Log
	start time.Time
	asked chan struct{} // a stop was asked for through the socket

	mu     sync.Mutex
	at     sandbox.Progress
	phase  api.Phase
	status api.Status // as it was when all was ready
	nodes  []api.Node

	// What the steps bring up, each set by its step and read by later ones.
	cluster *existing.Cluster
	begun   bool // the cluster may have something of it
	tunnel  tunnel
	door    *door
}

// tunnel leads to ports of the pod: an [existing.Tunnel].
type tunnel interface {
	Dial(ctx context.Context, port int) (net.Conn, error)
	Close() error
}

// New returns a sandbox that has not begun.
func New(o Options) *Sandbox {
	return &Sandbox{opts: o, log: event.NewLog(0), start: time.Now(), phase: api.Booting, asked: make(chan struct{})}
}

// ErrStopped is returned by [Sandbox.Run] when a stop was asked for before all was ready.
var ErrStopped = errors.New("stopped before it was ready")

// Run brings the sandbox into its cluster, calls ready once everything is up there (ready may be nil), and removes it when ctx
// ends or a stop is asked for. It returns when nothing of it is left, with what went wrong: nil for a sandbox that was ready
// and then stopped. Errors of the cluster are of package report.
func (s *Sandbox) Run(ctx context.Context, ready func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.asked:
			cancel(ErrStopped)
		case <-stop:
		}
	}()
	err := s.boot(ctx)
	if err == nil {
		s.setPhase(api.Ready)
		s.note(event.Info, "sandbox.ready", "ready in "+time.Since(s.start).Round(time.Millisecond).String())
		if ready != nil {
			ready()
		}
		<-ctx.Done()
	} else {
		s.note(event.Error, "boot.failed", err.Error())
		if cause := context.Cause(ctx); cause != nil {
			err = cause // it failed because it was stopped
		}
	}
	s.setPhase(api.Stopping)
	return errors.Join(Explain(err), Explain(s.shutdown(context.WithoutCancel(ctx))))
}

// step is one line of the boot.
type step struct {
	name  string
	start func(context.Context) error
}

func (s *Sandbox) steps() []step {
	return []step{
		{"control socket", s.serve},
		{"cluster", s.examine},
		{"objects", s.install},
		{"pod", s.awaitPod},
		{"sandbox", s.awaitReady},
		{"vCenters", s.lead},
	}
}

func (s *Sandbox) boot(ctx context.Context) error {
	steps := s.steps()
	for n, st := range steps {
		begin := time.Now()
		s.progress(sandbox.Progress{Step: n + 1, Steps: len(steps), Name: st.name})
		if err := st.start(ctx); err != nil {
			if known := (*coded.Error)(nil); errors.As(err, &known) {
				return err
			}
			return fmt.Errorf("%s: %w", st.name, err)
		}
		s.progress(sandbox.Progress{Step: n + 1, Steps: len(steps), Name: st.name, Done: true, Took: time.Since(begin)})
	}
	return nil
}

func (s *Sandbox) progress(p sandbox.Progress) {
	s.mu.Lock()
	s.at = p
	s.mu.Unlock()
	if s.opts.Progress != nil {
		s.opts.Progress(p)
	}
}

// detail says what the present step waits for.
func (s *Sandbox) detail(text string) {
	s.mu.Lock()
	p := s.at
	s.mu.Unlock()
	p.Detail = text
	s.progress(p)
}

func (s *Sandbox) setPhase(p api.Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase = p
}

func (s *Sandbox) note(level event.Level, kind, message string) {
	s.log.Append(event.Event{Plane: event.PlaneSandbox, Level: level, Kind: kind, Message: message})
	s.opts.Logger.Info(message, "kind", kind) //nolint:sloglint // the message is the event's
}

// Log has the events of this side. Those of the sandbox are on its socket.
func (s *Sandbox) Log() *event.Log { return s.log }

// Status is what the sandbox said of itself when it was ready, as this machine sees it.
func (s *Sandbox) Status() api.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Nodes are those that there were when it was ready.
func (s *Sandbox) Nodes() []api.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes
}

// absent is the status while the sandbox cannot be asked.
func (s *Sandbox) absent() api.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := api.Status{Name: s.opts.Name, Phase: s.phase, Step: s.at.Name, Scenario: s.opts.Topology.Metadata.Name, Speed: float64(s.opts.Speed), Version: build.Version()}
	if s.at.Detail != "" {
		st.Step += ": " + s.at.Detail
	}
	s.local(&st)
	return st
}

// local puts into a status what is of this machine. The caller has the lock.
func (s *Sandbox) local(st *api.Status) {
	st.PID, st.StartedAt, st.Dir = os.Getpid(), s.start, s.opts.Dir.Path()
	if s.cluster != nil {
		st.Server, st.Kubeconfig, st.Context = s.cluster.Server(), s.cluster.Kubeconfig(), s.cluster.Context()
	}
	if s.phase != api.Ready {
		st.Phase = s.phase
	}
	for i := range st.Components {
		st.Components[i].Log = "" // in the pod
	}
}
