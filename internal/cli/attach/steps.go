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
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

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
	if err := existing.Leave(s.opts.Dir.Path(), existing.Note{Name: s.opts.Name, Context: s.cluster.Context()}); err != nil {
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
	words := strings.TrimSpace(s.cluster.Words(context.Background(), s.opts.Name, lines))
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
			err = existing.Unnote(s.opts.Dir.Path())
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
