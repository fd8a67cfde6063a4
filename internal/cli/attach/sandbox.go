package attach

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	chart "github.com/vsphere-sandbox/vsphere-sandbox/charts/vsphere-sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
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
	st := api.Status{Name: s.opts.Name, Phase: s.phase, Step: s.at.Name, Topology: s.opts.Topology.Metadata.Name, Speed: float64(s.opts.Speed), Version: build.Version()}
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

// examine looks at the cluster before anything is done to it.
func (s *Sandbox) examine(ctx context.Context) error {
	c, err := existing.Open(s.opts.Target, s.opts.Dir.Path())
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.cluster = c
	s.mu.Unlock()
	s.detail("an answer of " + c.Server())
	v, err := c.Reach(ctx)
	if err != nil {
		return err
	}
	s.detail("what runs in " + c.Context() + ", Kubernetes " + v.GitVersion)
	if err := s.Guard(ctx); err != nil {
		return err
	}
	objects, err := s.objects()
	if err != nil {
		return err
	}
	return c.CheckRights(ctx, objects)
}

// Guard returns why the sandbox must not come into its cluster, or nil. It changes nothing there.
func (s *Sandbox) Guard(ctx context.Context) error {
	s.mu.Lock()
	c := s.cluster
	s.mu.Unlock()
	if c == nil {
		var err error
		if c, err = existing.Open(s.opts.Target, s.opts.Dir.Path()); err != nil {
			return Explain(err)
		}
	}
	return c.Guard(ctx, s.opts.intent())
}

func (s *Sandbox) objects() ([]*unstructured.Unstructured, error) {
	values, err := s.opts.values()
	if err != nil {
		return nil, err
	}
	return existing.Objects(chart.Files(), existing.ReleaseOf(s.opts.Name), values)
}

// install makes the objects. From here on there is something to remove.
func (s *Sandbox) install(ctx context.Context) error {
	objects, err := s.objects()
	if err != nil {
		return err
	}
	feed, err := newFeed(s.opts.Name)
	if err != nil {
		return err
	}
	if err := existing.WriteNote(s.opts.Dir.Path(), existing.Note{Name: s.opts.Name, Context: s.cluster.Context()}); err != nil {
		return err
	}
	s.begun = true
	s.detail(fmt.Sprintf("%d objects in namespace %s", len(objects), existing.NamespaceOf(s.opts.Name)))
	return s.cluster.Install(ctx, s.opts.Name, feed, objects)
}

// newFeed makes what the light nodes' stream is protected with, for this sandbox alone.
func newFeed(name string) (existing.Feed, error) {
	ca, err := cert.NewCA("vsphere-sandbox " + name)
	if err != nil {
		return existing.Feed{}, err
	}
	host := existing.FeedHost(name)
	pair, err := ca.Sign(cert.Leaf{CommonName: host, DNSNames: []string{host, host + ".cluster.local"}})
	if err != nil {
		return existing.Feed{}, err
	}
	return existing.Feed{CA: ca.Cert, Cert: pair.Cert, Key: pair.Key, Token: []byte(rand.Text())}, nil
}

// podPatience is how long the pod may take: the image may have to be pulled.
const podPatience = 5 * time.Minute

func (s *Sandbox) awaitPod(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, podPatience, fmt.Errorf("not done after %s", podPatience))
	defer cancel()
	pod, err := s.cluster.Pod(ctx, s.opts.Name, s.detail)
	if err != nil {
		return err
	}
	s.note(event.Info, "pod.running", "pod "+pod+" runs")
	return nil
}

// readyPatience is how long the sandbox may take to boot: thousands of nodes take minutes.
const readyPatience = 10 * time.Minute

// poll is the interval of status requests.
const poll = 500 * time.Millisecond

// awaitReady follows the boot of the sandbox in the pod. If it ends before, the error has the end of its log.
func (s *Sandbox) awaitReady(ctx context.Context) error {
	s.mu.Lock()
	s.tunnel = s.cluster.Tunnel(s.opts.Name)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, readyPatience, fmt.Errorf("not done after %s", readyPatience))
	defer cancel()
	for tick := time.NewTicker(poll); ; {
		if _, err := s.cluster.Pod(ctx, s.opts.Name, s.detail); err != nil {
			tick.Stop()
			return s.withWords(err)
		}
		st, err := s.remote(ctx)
		switch {
		case err == nil && st.Phase == api.Ready:
			tick.Stop()
			return nil
		case err == nil:
			s.detail(st.Step)
		default:
			s.opts.Logger.Debug("control API", "err", err)
			s.detail("its control API")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return context.Cause(ctx)
		}
	}
}

// withWords adds the last words of the pod to an error.
func (s *Sandbox) withWords(err error) error {
	const lines = 5
	known := (*coded.Error)(nil)
	words := strings.TrimSpace(s.cluster.LastLog(context.Background(), s.opts.Name, lines))
	if !errors.As(err, &known) || words == "" {
		return err
	}
	explained := *known
	explained.Err = errors.Join(known.Err, errors.New(words))
	return &explained
}

// removePatience is the time for a removal, beyond its own waits.
const removePatience = 2 * time.Minute

// StopTime is how long a sandbox in a cluster may take to end: its removal, and what follows.
const StopTime = removePatience + 15*time.Second

// shutdown removes everything.
func (s *Sandbox) shutdown(ctx context.Context) error {
	var errs []error
	if s.begun {
		s.progress(sandbox.Progress{Step: 1, Steps: 1, Name: "removal"})
		removing, cancel := context.WithTimeout(ctx, removePatience)
		defer cancel()
		err := s.cluster.Remove(removing, s.opts.Name, s.detail)
		if err == nil {
			err = existing.RemoveNote(s.opts.Dir.Path())
		}
		errs = append(errs, err)
	}
	s.mu.Lock()
	way := s.tunnel
	s.mu.Unlock()
	if way != nil {
		_ = way.Close() // to a pod that is gone
	}
	if s.door != nil {
		errs = append(errs, s.door.close(ctx))
	}
	return errors.Join(errs...)
}

// door is what listens on this machine: the control socket, and a port for each vCenter.
type door struct {
	s      *Sandbox
	server *http.Server
	ctx    context.Context // of what is forwarded; it ends when the door closes
	cancel context.CancelFunc
	open   sync.WaitGroup

	mu       sync.Mutex
	vcenters map[string]led // by name
}

// led is a vCenter that a port of this machine leads to.
type led struct {
	port   int    // in the pod
	local  string // 127.0.0.1:port here
	caFile string
}

// serve opens the control socket, for the owner only, before anything takes time: so that every other command sees the boot.
func (s *Sandbox) serve(context.Context) error {
	path := s.opts.Dir.SocketPath()
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancel(context.Background()) // streams end with the sandbox, not with the boot
	d := &door{s: s, ctx: ctx, cancel: cancel, vcenters: map[string]led{}}
	d.server = &http.Server{
		Handler: s.routes(), BaseContext: func(net.Listener) context.Context { return ctx }, ReadHeaderTimeout: 10 * time.Second,
	}
	s.door = d
	d.open.Go(func() {
		if err := d.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Logger.Error("control socket", "err", err)
		}
	})
	return nil
}

// lastWords is how long clients have to read the last responses when the server closes.
const lastWords = 2 * time.Second

func (d *door) close(ctx context.Context) error {
	d.cancel()
	patient, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	err := d.server.Shutdown(patient)
	if errors.Is(err, context.DeadlineExceeded) {
		err = d.server.Close()
	}
	d.open.Wait()
	return err
}

// remote returns the unmodified status of the sandbox in the pod.
func (s *Sandbox) remote(ctx context.Context) (api.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	return ask[api.Status](ctx, s, "status")
}

// answerPatience bounds a question to the pod that is asked of our own accord.
const answerPatience = 10 * time.Second

// Placed reports whether the sandbox of an instance directory has something in a cluster that was there before.
func Placed(dir string) bool {
	_, err := os.Stat(existing.NotePath(dir))
	return err == nil
}

// Sweep removes from its cluster what a sandbox brought there whose process was killed. It does nothing for one that runs, that has no note, or that does not exist. It comes before
// [instance.Reap] and [instance.Create], which remove the note.
func Sweep(ctx context.Context, root, name string, say func(string)) error {
	dir, err := instance.Open(root, name)
	if errors.As(err, new(instance.ErrNotFound)) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, running := dir.Running(); running {
		return nil
	}
	n, err := existing.ReadNote(dir.Path())
	if err != nil || n == nil {
		return err
	}
	temp, err := os.MkdirTemp("", "vsphere-sandbox-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	c, err := existing.Open(existing.Target{Kubeconfig: dir.Path("kubeconfig")}, temp)
	if err == nil {
		_, err = c.Reach(ctx)
	}
	if err != nil {
		e := Explain(err)
		if known := (*report.Error)(nil); errors.As(e, &known) {
			known.Message = fmt.Sprintf("the cluster of context %q may have something of sandbox %q left: %s", n.Context, n.Name, known.Message)
			known.Try = "vsphere-sandbox down --name " + n.Name + "   # again, when the cluster answers\nrm " + existing.NotePath(dir.Path()) + "   # when there is no such cluster any more"
		}
		return e
	}
	remove := c.Remove
	if n.Outside {
		remove = c.RemoveOutside
	}
	if err := remove(ctx, n.Name, say); err != nil {
		return Explain(err)
	}
	// It may be that nothing else of the directory goes: the note would have this done again.
	return existing.RemoveNote(dir.Path())
}

// Explain makes errors of a cluster ones that commands end with; others, and nil, are returned as they are.
func Explain(err error) error { return report.Coded(err, report.Prerequisite, nil) }
