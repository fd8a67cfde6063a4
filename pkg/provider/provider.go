package provider

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/loadbalancer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/route"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

const (
	// Name is the value of --cloud-provider, and with "://" the prefix of every providerID.
	Name = "vsphere"
	// UserAgent identifies the provider to vCenters and to the API server.
	UserAgent = "vsphere-cloud-provider"
)

// Options configure a [Provider]. The zero value is right for production.
type Options struct {
	// CallTimeout bounds every call to a vCenter; 10 s when zero.
	CallTimeout time.Duration
	// MaxWait is how long a vCenter may hold one long poll of the watch; 60 s when zero.
	MaxWait time.Duration
	// TagRefresh is how often tags are read. When zero: 5 min if the vCenter's events report tags, else 60 s.
	TagRefresh time.Duration
	// StartWait is the longest that Initialize waits for the inventories to be in sync, so that the controllers' first
	// round finds VMs; 5 s when zero. Initialize does not wait for a vCenter whose first attempt fails.
	StartWait time.Duration
	// Parity selects this provider's behavior or upstream's where the two differ on purpose; this provider's when empty.
	Parity Parity
	// ClusterName is the name of the cluster (--cluster-name), which objects in NSX are tagged with; "kubernetes" when empty.
	ClusterName string
	// NodeLabels are added to every Node when it is initialized.
	NodeLabels map[string]string
	// Resyncer, if set, is notified of nodes that the controllers should sync before their next period.
	Resyncer Resyncer
	// ConfigFile is the file that New's configuration was loaded from with ConfigOptions; empty for none. The provider
	// watches it and applies changes where that is safe.
	ConfigFile    string
	ConfigOptions []config.Option
	// ConfigPeriod is how often files are checked for changes: ConfigFile, certificate authorities and secrets
	// directories; 2 s when zero.
	ConfigPeriod time.Duration
	// ReloadWait is how long a changed configuration waits for its vCenters to be in sync before it takes effect; 30 s
	// when zero.
	ReloadWait time.Duration
	// Pod is the Pod that the provider runs in. Events about the configuration refer to it; without one they refer to
	// the Secrets with the credentials.
	Pod Pod
	// Registry is where the provider registers its metrics; no metrics when nil.
	Registry metrics.Registry
	// Logger receives the provider's log; discarded when nil.
	Logger *slog.Logger
}

// Pod identifies a Pod; the zero value is no Pod.
type Pod struct {
	Namespace, Name, UID string
}

// Parity selects the behavior of this provider or of upstream's where the two differ on purpose (docs/provider.md).
type Parity string

// ParityUpstream selects upstream's behavior.
const ParityUpstream Parity = "upstream"

// Resyncer is notified of changes at the vCenters. Its methods are safe for concurrent use and do not block.
type Resyncer interface {
	// Changed reports that a VM, given by providerID, has appeared, changed or disappeared.
	Changed(providerID string)
	// ChangedAll reports that any node may be affected.
	ChangedAll()
}

// Provider implements [cloudprovider.Interface]. Create it with [New]; it starts work at Initialize. All methods are safe
// for concurrent use.
type Provider struct {
	opts    Options
	log     *slog.Logger
	current atomic.Pointer[generation]
	next    atomic.Pointer[generation] // the generation that will replace current; nil for none

	file    *config.File // nil if the configuration was not loaded from a file
	edits   chan edit
	secrets *secrets
	dirs    *directories
	events  *notifier
	cluster apiCluster
	nodes   nodes
	// namesChanged wakes watchNames.
	namesChanged chan struct{}
	annotations  annotationWriter
	metrics      *metrics.Metrics // nil without a registry

	begin   sync.Once
	begun   atomic.Bool
	closed  context.Context // ends at Close
	close   context.CancelFunc
	running sync.WaitGroup
}

var _ cloudprovider.Interface = (*Provider)(nil)

// New returns a provider for cfg. It makes no calls.
func New(cfg *config.Config, opts Options) (*Provider, error) {
	opts.CallTimeout = cmp.Or(opts.CallTimeout, 10*time.Second)
	opts.StartWait = cmp.Or(opts.StartWait, 5*time.Second)
	opts.ReloadWait = cmp.Or(opts.ReloadWait, 30*time.Second)
	opts.ConfigPeriod = cmp.Or(opts.ConfigPeriod, 2*time.Second)
	opts.ClusterName = cmp.Or(opts.ClusterName, "kubernetes")
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	p := &Provider{opts: opts, log: opts.Logger, events: newNotifier(opts.Pod), edits: make(chan edit, 1), namesChanged: make(chan struct{}, 1)}
	p.nodes.events = newNodeEvents(p.log)
	p.events.subscribers = append(p.events.subscribers, p.nodes.events.Attach)
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

// Initialize implements [cloudprovider.Interface]: it starts watching the vCenters, the configuration and the Secrets until
// stop closes or Close is called. It returns when the inventory of every reachable vCenter is in sync, or after StartWait.
// Leader migration calls it twice: the second call does nothing.
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
	p.cluster.start(client)
	p.logWarnings(g.cfg)
	warnNodeLabels(p.log, p.opts.NodeLabels)
	p.running.Go(func() { p.events.run(ctx, client) })
	p.runAnnotations(ctx, client)
	p.secrets.follow(ctx, client, &p.running)
	p.dirs.follow(ctx, &p.running)
	g.run(ctx)
	p.running.Go(func() { <-g.ended })
	p.serveBalancer(g)
	p.running.Go(func() {
		<-ctx.Done()
		p.closeManager(p.now())
	})
	p.running.Go(func() { p.reload(ctx) })
	p.running.Go(func() { p.watchNames(ctx) })
	waitCtx, cancel := context.WithTimeout(ctx, p.opts.StartWait)
	defer cancel()
	if err := g.inv.WaitTried(waitCtx); err != nil && ctx.Err() == nil {
		p.log.Warn("starting without every inventory in sync", "err", err)
	}
}

// Close stops everything that Initialize started, as if its stop channel had closed. It does not wait.
func (p *Provider) Close() { p.close() }

// Wait returns when everything that Initialize started has ended and the sessions are logged out. It returns only after
// Initialize's stop channel has closed or Close was called.
func (p *Provider) Wait() { p.running.Wait() }

func (p *Provider) logWarnings(cfg *config.Config) {
	for _, w := range cfg.Warnings {
		p.log.Warn("cloud config", "warning", w)
	}
}

func (p *Provider) inventoryChanged(c inventory.Change) {
	notify.Wake(p.namesChanged)
	nudge := p.opts.Resyncer
	if nudge == nil {
		return
	}
	if c.All {
		nudge.ChangedAll()
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

// HasClusterID implements [cloudprovider.Interface]. It returns true, because no vSphere object is tagged with a cluster.
func (p *Provider) HasClusterID() bool { return true }

// InstancesV2 implements [cloudprovider.Interface].
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) { return p, true }

// Instances implements [cloudprovider.Interface] for callers without InstancesV2 support.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return legacy{p}, true }

// Zones implements [cloudprovider.Interface] for callers without InstancesV2 support.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return legacy{p}, true }

// Clusters implements [cloudprovider.Interface]: the provider has no clusters.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// generation is everything that depends on the configuration. It is immutable: a new configuration makes a new generation,
// which may share connections with the one before. One call uses one generation throughout.
type generation struct {
	cfg     *config.Config
	opts    Options
	log     *slog.Logger
	metrics *metrics.Metrics // nil for none
	inv     *inventory.Inventory
	clients map[string]*connection // by tenant

	manager  *manager               // nil for none
	balancer *loadbalancer.Balancer // nil for none
	routes   *route.Routes          // nil for none

	running context.Context    // set by run
	stop    context.CancelFunc // set by run
	ended   chan struct{}      // closed when what run started has ended, with sessions logged out
}

// now returns the generation in force.
func (p *Provider) now() *generation { return p.current.Load() }

// generation returns a generation for cfg that has not started yet. It reuses connections and inventories of before, which
// may be nil.
func (p *Provider) generation(cfg *config.Config, before *generation) (*generation, error) {
	if err := p.opts.check(cfg); err != nil {
		return nil, err
	}
	g := &generation{
		cfg: cfg, opts: p.opts, log: p.log, metrics: p.metrics,
		clients: map[string]*connection{}, ended: make(chan struct{}),
	}
	ic := inventory.Config{
		Categories:     inventory.Categories{Region: cfg.Labels.Region, Zone: cfg.Labels.Zone},
		Networks:       networks(cfg.Nodes),
		TagRefresh:     p.opts.TagRefresh,
		ParityUpstream: p.opts.Parity == ParityUpstream,
		OnChange:       p.inventoryChanged,
		Logger:         p.log,
	}
	if before != nil {
		ic.Previous = before.inv
	}
	for _, vc := range cfg.VCenters {
		made := settingsOf(vc)
		c := before.connection(vc.Tenant)
		if c == nil || c.made != made {
			var err error
			if c, err = p.connection(vc, made); err != nil {
				return nil, err
			}
		}
		p.want(vc)
		g.clients[vc.Tenant] = c
		ic.VCenters = append(ic.VCenters, inventory.VCenterConfig{Client: c.Client, Datacenters: vc.Datacenters})
	}
	if err := p.withManager(g, before); err != nil {
		return nil, err
	}
	p.withBalancer(g)
	p.withRoutes(g)
	var err error
	g.inv, err = inventory.New(ic)
	return g, err
}

// connection returns the connection of a tenant, or nil.
func (g *generation) connection(tenant string) *connection {
	if g == nil {
		return nil
	}
	return g.clients[tenant]
}

// run keeps the generation's inventory current until ctx ends or end is called. It returns when what the generation
// shares with another no longer depends on that other one.
func (g *generation) run(ctx context.Context) {
	ctx, g.stop = context.WithCancel(ctx)
	g.running = ctx
	go func() {
		defer close(g.ended)
		if err := g.inv.Run(ctx); err != nil {
			g.log.Error("inventory ended", "err", err)
		}
	}()
	select {
	case <-g.inv.Running():
	case <-g.ended:
	}
}

// end stops what no other generation uses, and waits for it.
func (g *generation) end() {
	g.stop()
	<-g.ended
}

// connection is the client of one vCenter. It may outlive a generation.
type connection struct {
	*vcenter.Client
	made settings
	// vc is the configuration in force. It differs from the one that the client was created with only in what the client
	// does not depend on, and in the source of the credentials.
	vc atomic.Pointer[config.VCenter]
}

// settings are what a client is created with: if they change, a new client is needed. The content of caFile is not part
// of them, because a client reads that file for every connection.
type settings struct {
	tenant, server     string
	port               int
	insecure           bool
	caFile, thumbprint string
	roundTrips         int
}

func settingsOf(vc config.VCenter) settings {
	return settings{
		tenant: vc.Tenant, server: vc.Server, port: vc.Port, insecure: vc.InsecureFlag,
		caFile: vc.CAFile, thumbprint: vc.Thumbprint, roundTrips: vc.SOAPRoundtripCount,
	}
}

// connection returns a client that has made no call yet.
func (p *Provider) connection(vc config.VCenter, made settings) (*connection, error) {
	c := &connection{made: made}
	c.vc.Store(&vc)
	var err error
	c.Client, err = vcenter.New(vcenter.Config{
		Name:        vc.Tenant,
		Server:      vc.Server,
		Port:        vc.Port,
		Insecure:    vc.InsecureFlag,
		CAFile:      vc.CAFile,
		Thumbprint:  vc.Thumbprint,
		UserAgent:   UserAgent,
		Credentials: func(ctx context.Context) (vcenter.Credentials, error) { return p.credentials(ctx, *c.vc.Load()) },
		CallTimeout: p.opts.CallTimeout,
		MaxWait:     p.opts.MaxWait,
		RoundTrips:  vc.SOAPRoundtripCount,
		OnCall:      func(call vcenter.Call) { p.metrics.Call(vc.Tenant, call.Method, call.Result, call.Duration) },
		OnState:     func(s vcenter.State) { p.stateChanged(c, s) },
		Logger:      p.log,
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// stateChanged reports the state of a connection, if the connection is in force.
func (p *Provider) stateChanged(c *connection, s vcenter.State) {
	if p.now().connection(c.Name()) == c {
		p.events.state(*c.vc.Load(), s)
	}
}

// adopt switches a connection, which may have been in use before, to the configuration that is now in force.
func (p *Provider) adopt(c *connection, vc config.VCenter) {
	before := c.vc.Swap(&vc)
	if originOf(*before) != originOf(vc) {
		c.CredentialsChanged()
		if err := p.credentialsError(vc); !errors.Is(err, errNotRead) { // else reported once it has been read
			p.events.credentials(vc, c.State().Connected, err)
		}
	}
	if s := c.State(); !s.Since.IsZero() {
		p.events.state(vc, s)
	}
}

// measures returns the vCenters' state for the metrics; nil before Initialize.
func (p *Provider) measures() []metrics.VCenter {
	if !p.begun.Load() {
		return nil
	}
	var all []metrics.VCenter
	g := p.now()
	for _, s := range g.inv.Status() {
		state := g.clients[s.VCenter].State()
		all = append(all, metrics.VCenter{
			Name: s.VCenter, Connected: state.Connected, Reconnects: state.Reconnects,
			Synced: s.Synced, SyncedAt: s.SyncedAt, VMs: s.VMs, TagsReadAt: s.TagsReadAt,
			NamesMissing: len(s.Absent), NamesKnown: s.AbsentKnown,
		})
	}
	return all
}

// Health returns the vCenters' state for the probes; nil before Initialize, as for a replica that does not lead.
func (p *Provider) Health() []health.Status {
	if !p.begun.Load() {
		return nil
	}
	var all []health.Status
	g := p.now()
	for _, s := range g.inv.Status() {
		var warnings []string
		for _, name := range s.Absent {
			warnings = append(warnings, name.String())
		}
		all = append(all, health.Status{
			Warnings: warnings,
			Tenant:   s.VCenter, Connected: g.clients[s.VCenter].State().Connected, Synced: s.Synced, Err: s.Doubt,
		})
	}
	return all
}
