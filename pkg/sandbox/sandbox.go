package sandbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/trim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/actions"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/await"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/boot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/clusterwatch"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/desired"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/faults"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/inspect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/loadbalancer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/pods"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/processes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/recording"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/rows"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/secrets"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/services"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/supervisor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/tracing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// Sandbox is one running sandbox. Make it with [New] and run it with [Sandbox.Run].
type Sandbox struct {
	opts  Options
	log   *event.Log
	start time.Time
	asked chan struct{} // closed when a client of the API requests a stop

	// Set by boot steps. The steps and what they start read them without the lock. Requests of the API take the lock or call
	// built first.
	mu       sync.Mutex
	cluster  cluster.Cluster
	vcenters vcenters.List
	world    *world.World
	broken   error // why it stops

	// The parts, made by New.
	ground       ground.Ground
	facts        ground.Facts // the ground's
	source       vcenters.Source
	boot         boot.Boot
	await        await.Waiter
	files        recording.Files
	server       control.Server
	desired      *desired.State
	nodes        *nodes.Nodes
	ccm          ccm.Manager
	config       *cloudconfig.Config
	pods         *pods.Pods // empty where nothing runs as pods
	csi          *csi.Driver
	components   *components.Registry
	proxies      components.Proxies
	processes    processes.Processes
	secrets      secrets.Secrets
	tokens       accounts.Tokens
	ongoing      causality.Ongoing
	causes       *causality.Finder
	faults       *faults.Faults
	actions      actions.Actions
	background   background.Groups // goroutines of steps
	watchCache   watchcache.Cache
	rows         rows.Rows
	clusterWatch clusterwatch.Watch
	loadBalancer loadbalancer.Balancer
	nsx          nsx.Part
	services     services.Rows
	supervisor   supervisor.Part
	storage      *storage.Watcher
	volumes      storage.Server
	tags         *vcenters.Tags
	inventory    vcenters.Watch
	listing      vcenters.Listing
	tracer       tracing.Tracer
	inspector    *inspect.Inspector
	version      askedVersion
	snapshots    snapshots
}

// New returns a sandbox that has not begun.
func New(opts Options) *Sandbox { return newOn(opts, opts.source()) }

// newOn returns a sandbox whose vCenters come from a source.
func newOn(opts Options, source vcenters.Source) *Sandbox {
	s := &Sandbox{opts: opts, log: event.NewLog(0), start: time.Now(), asked: make(chan struct{}), source: source}
	s.ground = s.newGround()
	s.facts = s.ground.Facts()
	s.snapshots.s = s
	if opts.From != nil {
		s.snapshots.remember()
	}
	assemble(s)
	assembleCCM(s)
	s.csi.CloudConfig, s.csi.CAFile, s.csi.Host = s.config.File, s.config.CAFile, s.config.Host
	return s
}

// ErrStopped is returned by [Sandbox.Run] when a stop was asked for before the boot was done.
var ErrStopped = errors.New("stopped before it was ready")

// Run boots the sandbox, calls ready once everything is up (ready may be nil), and stops it when ctx ends or a stop is
// asked for through the control API. It returns when nothing of it is left running, with what went wrong: nil for a
// sandbox that was ready and then stopped.
func (s *Sandbox) Run(ctx context.Context, ready func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.asked:
			cancel(ErrStopped)
		case <-ctx.Done():
		}
	}()

	if err := s.opts.check(); err != nil {
		return err
	}
	steps := s.steps()
	begun, err := s.boot.Start(ctx, steps)
	if err == nil {
		s.boot.SetPhase(api.Ready)
		s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "sandbox.ready", Message: "ready in " + time.Since(s.start).Round(time.Millisecond).String()})
		if ready != nil {
			ready()
		}
		trim.AfterBoot()
		<-ctx.Done()
		s.mu.Lock()
		err = s.broken
		s.mu.Unlock()
	} else if cause := context.Cause(ctx); cause != nil {
		err = cause // the boot was canceled
	}
	s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "sandbox.stopping", Message: "stopping"})
	return errors.Join(err, s.shutdown(steps, begun))
}

// askStop begins the stop of a sandbox, and reports whether that is new. The caller holds the lock.
func askStop(s *Sandbox) bool {
	select {
	case <-s.asked:
		return false
	default:
		close(s.asked)
		return true
	}
}

// Log is the sandbox's event log.
func (s *Sandbox) Log() *event.Log { return s.log }
