package provider

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

const (
	// Name is the value of --cloud-provider, and with "://" the prefix of every providerID.
	Name = "vsphere"
	// UserAgent is how the provider introduces itself to vCenters and to the API server.
	UserAgent = "vsphere-cloud-provider"
)

// Options tune a [Provider]. The zero value is right for production.
type Options struct {
	// CallTimeout bounds every call to a vCenter; 10 s when zero.
	CallTimeout time.Duration
	// MaxWait is how long a vCenter may hold the watch's long poll; 60 s when zero.
	MaxWait time.Duration
	// TagRefresh is how often tags are read; when zero, 5 min where a vCenter's events tell of tags and 60 s where not.
	TagRefresh time.Duration
	// StartWait is the longest that Initialize waits for the inventories to be in sync, so that the controllers' first
	// round finds something; 5 s when zero. A vCenter whose first attempt fails is not waited for: it comes in the
	// background.
	StartWait time.Duration
	// Parity is whose choice counts where upstream's provider decides otherwise on purpose; ours when empty.
	Parity Parity
	// NodeLabels are given to every node when it is initialized.
	NodeLabels map[string]string
	// Nudge, when set, is told which nodes the controllers should look at without waiting for their period.
	Nudge Nudge
	// ConfigFile is where the configuration given to New was read from, with ConfigOptions. It is followed, and what
	// changes in it is taken up where that is safe. Empty when it was read from no file.
	ConfigFile    string
	ConfigOptions []config.Option
	// ConfigPeriod is how often files are looked at: that one, certificate authorities, secrets directories; 2 s when zero.
	ConfigPeriod time.Duration
	// ReloadWait is how long a changed configuration waits for its vCenters to be in sync before it takes effect; 30 s
	// when zero.
	ReloadWait time.Duration
	// Pod is the one that the provider runs in: events about the configuration are about it. Without one they are about
	// the Secrets with the credentials.
	Pod Pod
	// Registry is where the provider's metrics are registered; it has none when nil.
	Registry metrics.Registry
	// Logger receives what the provider has to say; none when nil.
	Logger *slog.Logger
}

// Pod names a Pod; the zero value names none.
type Pod struct {
	Namespace, Name, UID string
}

// Parity is a choice between this provider and upstream's, where the two differ on purpose (docs/provider.md).
type Parity string

// ParityUpstream is upstream's choice.
const ParityUpstream Parity = "upstream"

// Nudge is told that something changed at the vCenters. Its methods may be called from any goroutine and do not block.
type Nudge interface {
	// Changed names a VM, by providerID, of which something changed, or which is new or gone.
	Changed(providerID string)
	// Everything says that any node may be concerned.
	Everything()
}

// Provider implements [cloudprovider.Interface]. Make one with [New]; it begins to work at Initialize. All methods may
// be called from any goroutine.
type Provider struct {
	opts    Options
	log     *slog.Logger
	current atomic.Pointer[generation]
	next    atomic.Pointer[generation] // one that is to take current's place; nil for none

	file        *config.File // nil when the configuration is in no file
	edits       chan edit
	secrets     *secrets
	dirs        *directories
	events      *notifier
	nodes       nodes
	annotations annotations
	metrics     *metrics.Metrics // nil without a registry

	begin   sync.Once
	begun   atomic.Bool
	closed  context.Context // ends at Close
	close   context.CancelFunc
	running sync.WaitGroup
}

var _ cloudprovider.Interface = (*Provider)(nil)

// New returns a provider for cfg. It makes no call.
func New(cfg *config.Config, opts Options) (*Provider, error) {
	opts.CallTimeout = cmp.Or(opts.CallTimeout, 10*time.Second)
	opts.StartWait = cmp.Or(opts.StartWait, 5*time.Second)
	opts.ReloadWait = cmp.Or(opts.ReloadWait, 30*time.Second)
	opts.ConfigPeriod = cmp.Or(opts.ConfigPeriod, 2*time.Second)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Provider{opts: opts, log: opts.Logger, events: newNotifier(opts.Pod), edits: make(chan edit, 1)}
	p.nodes.events = newNodeEvents(p.log)
	p.events.others = append(p.events.others, p.nodes.events.attach)
	p.closed, p.close = context.WithCancel(context.Background())
	p.secrets = newSecrets(p.log, func(ref config.SecretRef) { p.originChanged(origin{secret: ref}) })
	p.dirs = newDirectories(p.log, opts.ConfigPeriod, func(path string) { p.originChanged(origin{directory: path}) })
	if opts.ConfigFile != "" {
		p.file = config.NewFile(opts.ConfigFile, opts.ConfigPeriod, p.edited, opts.ConfigOptions...)
	}
	if opts.Registry != nil {
		var err error
		if p.metrics, err = metrics.New(opts.Registry, p.measures); err != nil {
			return nil, err
		}
	}
	g, err := p.generation(cfg, nil)
	if err != nil {
		return nil, err
	}
	p.current.Store(g)
	return p, nil
}

// Initialize implements [cloudprovider.Interface]: it begins to follow the vCenters, the configuration and the Secrets
// until stop closes or Close is called, and returns when the inventory of every vCenter that can be reached is in sync, or
// StartWait has passed. Leader migration calls it twice: the second call does nothing.
func (p *Provider) Initialize(builder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	p.start(wait.ContextForChannel(stop), builder.ClientOrDie(UserAgent))
}

func (p *Provider) start(parent context.Context, client kubernetes.Interface) {
	p.begin.Do(func() {
		p.begun.Store(true)
		ctx, cancel := context.WithCancel(parent)
		context.AfterFunc(p.closed, cancel)
		p.refresh()
		p.startIn(ctx, client)
	})
}

func (p *Provider) startIn(ctx context.Context, client kubernetes.Interface) {
	g := p.now()
	p.warn(g.cfg)
	warnNodeLabels(p.log, p.opts.NodeLabels)
	p.running.Go(func() { p.events.run(ctx, client) })
	p.annotate(ctx, client)
	p.secrets.follow(ctx, client, &p.running)
	p.dirs.follow(ctx, &p.running)
	g.run(ctx)
	p.running.Go(func() { <-g.ended })
	p.running.Go(func() { p.reload(ctx) })
	waitCtx, cancel := context.WithTimeout(ctx, p.opts.StartWait)
	defer cancel()
	if err := g.inv.WaitTried(waitCtx); err != nil && ctx.Err() == nil {
		p.log.Warn("start without every inventory in sync", "err", err)
	}
}

// Close ends everything that Initialize started, as if its stop channel had closed, and returns at once.
func (p *Provider) Close() { p.close() }

// Wait returns when everything that Initialize started has ended after its stop channel closed or after Close, sessions
// logged out.
func (p *Provider) Wait() { p.running.Wait() }

// warn tells the operator what in the configuration has no effect.
func (p *Provider) warn(cfg *config.Config) {
	for _, w := range cfg.Warnings {
		p.log.Warn("cloud config", "warning", w)
	}
}

// inventoryChanged is told what changed at a vCenter.
func (p *Provider) inventoryChanged(c inventory.Change) {
	nudge := p.opts.Nudge
	if nudge == nil {
		return
	}
	if c.Everything {
		nudge.Everything()
		return
	}
	for _, vms := range [][]*inventory.VM{c.VMs, c.Left} {
		for _, vm := range vms {
			if vm.UUID != (match.UUID{}) {
				nudge.Changed(match.ProviderID(vm.UUID))
			}
		}
	}
}

// ProviderName implements [cloudprovider.Interface].
func (p *Provider) ProviderName() string { return Name }

// HasClusterID implements [cloudprovider.Interface]. Nothing here is tagged with a cluster.
func (p *Provider) HasClusterID() bool { return true }

// InstancesV2 implements [cloudprovider.Interface].
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) { return p, true }

// Instances implements [cloudprovider.Interface], for callers that do not know InstancesV2.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return legacy{p}, true }

// Zones implements [cloudprovider.Interface], for callers that do not know InstancesV2, which tells zones too.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return legacy{p}, true }

// LoadBalancer implements [cloudprovider.Interface]: there are none.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

// Routes implements [cloudprovider.Interface]: there are none.
func (p *Provider) Routes() (cloudprovider.Routes, bool) { return nil, false }

// Clusters implements [cloudprovider.Interface]: there are none.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }
