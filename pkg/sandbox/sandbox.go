package sandbox

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Sandbox is a sandbox that runs. Make it with [New], give it its life with [Sandbox.Run].
type Sandbox struct {
	opts  Options
	log   *event.Log
	start time.Time

	mu      sync.Mutex
	current *topology.Topology // what was applied last

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
	boot         boot.Boot
	await        await.Waiter
	actions      actions.Actions
	cluster      cluster.Cluster
	pods         *pods // nil where nothing runs as pods; guarded by mu until the boot is done
	controlPlane *child.Child
	source       vcenters.Source
	vcenters     vcenters.List
	world        *world.World
	nodes        *nodes
	light        *lightNodes
	ccms         ccms
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
		asked:   make(chan struct{}),
	}
	g := s.newGround()
	s.facts, s.source = g.Facts(), opts.source()
	s.faults = &faults.Faults{Lacks: s.lacks, Allow: s.mayInject, Seeded: s.source.Confirms()}
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
		Log: s.log, Causes: s.causes, Cache: &s.watchCache, ForceDetach: opts.Speed.Of(pace.AttachDetachMaxWaitForUnmount), Allow: s.source.AllowVolume,
		VCenters: func() vcenters.List { return s.vcenters }, Nodes: func() []api.Node { return s.world.Nodes() },
	}
	s.components = &components.Registry{
		Command: opts.Command, Dir: opts.Dir, Log: s.log, Logger: opts.Logger, Cache: &s.watchCache, Describe: s.describe, Crashed: s.boot.Crashed,
	}
	s.proxies.Server = func() string { return s.cluster.Addr() }
	s.tokens = accounts.Tokens{Client: s.client, Log: s.log, Background: &s.background, Know: func(token string) error { return s.secrets.Know(token) }}
	s.standOn(g)
	s.csi = &csi.Driver{
		Log: s.log, Causes: s.causes, Dir: opts.Dir, Speed: opts.Speed, Topology: opts.Topology, Sidecars: opts.CSI.Sidecars, Args: s.source.Args(),
		Env:         func() []string { return withoutProviderVariables(os.Environ()) },
		CloudConfig: s.config.File, SecretNamespace: cloudconfig.Namespace, SecretName: cloudconfig.Secret,
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
	s.boot = boot.Boot{Log: s.log, Logger: opts.Logger, Timeout: s.stepTime(), Report: func(p Progress) {
		if s.opts.Progress != nil {
			s.opts.Progress(p)
		}
	}}
	s.await = await.Waiter{Log: s.log, Timeout: s.stepTime(), Detail: s.boot.Detail}
	s.actions = actions.Actions{
		Log: s.log, World: s.currentWorld, VCenters: func() vcenters.List { return s.vcenters }, Kubernetes: s.client, Allow: s.allowVM,
		Hang: func(v world.VM) bool { return s.nodes.hang(v) }, ReadOnlyNodes: func() bool { return s.facts.Nodes == api.NodesReal },
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
	begun, err := s.boot.Start(ctx, steps)
	if err == nil {
		s.boot.SetPhase(api.Ready)
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

// Nodes lists what became of the nodes.
func (s *Sandbox) Nodes() []api.Node { return s.watchCache.CountPods(s.world.Nodes()) }

// Datacenters are those of all vCenters.
func (s *Sandbox) Datacenters() []api.Datacenter { return s.world.Datacenters() }

// Log is the sandbox's event log.
func (s *Sandbox) Log() *event.Log { return s.log }
