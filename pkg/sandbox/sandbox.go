package sandbox

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/trim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/cloudconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/faults"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/recording"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/watchcache"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Sandbox is a sandbox that runs. Make it with [New], give it its life with [Sandbox.Run].
type Sandbox struct {
	opts  Options
	log   *event.Log
	start time.Time

	mu      sync.Mutex
	phase   api.Phase
	at      Progress
	readyAt time.Time
	abort   context.CancelCauseFunc // ends the boot
	current *topology.Topology      // what was applied last

	applying  sync.Mutex           // held while a topology is applied; guards what follows
	attempted []*topology.Topology // begun after current, and not finished

	asked chan struct{} // a stop was asked for through the API

	// What the boot steps bring up, each set by its step and read by later ones.
	secrets      *secret.Store
	sessions     atomic.Int32 // that were known
	eventFile    *event.File
	ground       ground.Ground
	facts        ground.Facts // the ground's
	recorder     *recording.Recorder
	server       *control.Server
	cluster      cluster.Cluster
	pods         *pods // nil where nothing runs as pods; guarded by mu until the boot is done
	controlPlane *child.Child
	sim          *sim.Simulation // nil where the vCenters are real
	real         *reality        // nil where they are simulated
	vcenters     vcenters.List
	world        *world.World
	nodes        *nodes
	light        *lightNodes
	ccm          ccm.Manager
	config       *cloudconfig.Config
	csi          *csi.Driver
	components   *components.Registry
	proxies      components.Proxies
	tokens       accounts.Tokens
	ongoing      causality.Ongoing
	causes       *causality.Finder
	faults       *faults.Faults
	background   background.Groups // goroutines of steps

	watchCache watchcache.Cache
	storage    *storage.Watcher
	tags       *vcenters.Tags
}

// New returns a sandbox that has not begun.
func New(opts Options) *Sandbox {
	s := &Sandbox{
		opts:    opts,
		log:     event.NewLog(0),
		start:   time.Now(),
		current: opts.Topology,
		phase:   api.Booting,
		asked:   make(chan struct{}),
	}
	g := s.newGround()
	s.facts = g.Facts()
	s.faults = &faults.Faults{Lacks: s.lacks, Allow: s.mayInject, Seeded: opts.Real != nil}
	s.causes = &causality.Finder{
		Log: s.log, Grace: s.grace(), Topology: s.topology,
		VM: func(node string) (vcenter, vm string) {
			b := s.nodes.behind(node)
			return b.vcenter, b.vm
		},
		Lease: s.faults.Lease,
	}
	s.tags = &vcenters.Tags{
		VCenters: func() vcenters.List { return s.vcenters }, Log: s.log, Changed: s.tagsChanged, Logger: opts.Logger,
		Categories: func() topology.Categories { return s.topology().Spec.Categories },
	}
	s.storage = &storage.Watcher{
		Log: s.log, Causes: s.causes, Cache: &s.watchCache, ForceDetach: opts.Speed.Of(pace.AttachDetachMaxWaitForUnmount), Allow: s.mayActOnVolume,
		VCenters: func() vcenters.List { return s.vcenters }, Nodes: func() []api.Node { return s.world.Nodes() },
	}
	s.components = &components.Registry{
		Command: opts.Command, Dir: opts.Dir, Log: s.log, Logger: opts.Logger, Cache: &s.watchCache, Describe: s.describe, Crashed: s.crashed,
	}
	client := func() kubernetes.Interface { return s.cluster.Client() }
	s.proxies.Server = func() string { return s.cluster.Addr() }
	s.tokens = accounts.Tokens{Client: client, Log: s.log, Background: &s.background, Know: func(token string) error { return s.secrets.Know(token) }}
	s.standOn(g)
	s.csi = &csi.Driver{
		Log: s.log, Causes: s.causes, Dir: opts.Dir, Speed: opts.Speed, Topology: opts.Topology, Sidecars: opts.CSI.Sidecars,
		Env:         ccm.Environ,
		CloudConfig: s.config.File, Args: opts.callTimeout(), SecretNamespace: cloudconfig.Namespace, SecretName: cloudconfig.Secret,
		Cluster: func() cluster.Cluster { return s.cluster }, Components: s.components, Proxies: &s.proxies, Tokens: &s.tokens, Background: &s.background,
		World: func() *world.World { return s.world },
		Light: func(v world.VM) bool { return s.light.has(v) },
		Kubelet: func(node string) string {
			if t, err := s.nodes.supervised(node); err == nil {
				return t.component
			}
			return ""
		},
	}
	s.light = newLightNodes(s)
	s.nodes = newNodes(s)
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
	begun, err := s.boot(ctx, steps)
	if err == nil {
		s.setPhase(api.Ready)
		s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "sandbox.ready", Message: "ready in " + time.Since(s.start).Round(time.Millisecond).String()})
		if ready != nil {
			ready()
		}
		trim.AfterBoot()
		<-ctx.Done()
	} else if cause := context.Cause(ctx); cause != nil {
		err = cause // it failed because it was told to end
	}
	s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "sandbox.stopping", Message: "stopping"})
	return errors.Join(err, s.shutdown(steps, begun))
}

func (s *Sandbox) setPhase(p api.Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase = p
	if p == api.Ready {
		s.at, s.readyAt = Progress{}, time.Now()
	}
}

// progress publishes what is being done.
func (s *Sandbox) progress(p Progress) {
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

// Nodes lists what became of the nodes.
func (s *Sandbox) Nodes() []api.Node { return s.watchCache.CountPods(s.world.Nodes()) }

// Datacenters are those of all vCenters.
func (s *Sandbox) Datacenters() []api.Datacenter { return s.world.Datacenters() }

// Log is the sandbox's event log.
func (s *Sandbox) Log() *event.Log { return s.log }
