package provider

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
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
	// TagRefresh is how often tags are read; 60 s when zero.
	TagRefresh time.Duration
	// StartWait is how long Initialize waits for the inventories to be in sync, so that the controllers' first round
	// finds something; 5 s when zero. A vCenter that is not there by then is waited for in the background.
	StartWait time.Duration
	// Parity is whose choice counts where upstream's provider decides otherwise on purpose; ours when empty.
	Parity Parity
	// NodeLabels are given to every node when it is initialized.
	NodeLabels map[string]string
	// Nudge, when set, is told which nodes the controllers should look at without waiting for their period.
	Nudge Nudge
	// Logger receives what the provider has to say; none when nil.
	Logger *slog.Logger
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
	cfg     *config.Config
	opts    Options
	log     *slog.Logger
	inv     *inventory.Inventory
	clients map[string]*vcenter.Client // by tenant

	secrets *secrets
	dirs    map[string]*config.Directory // secrets directories, by path
	events  *notifier
	running sync.WaitGroup
}

var _ cloudprovider.Interface = (*Provider)(nil)

// New returns a provider for cfg. It makes no call.
func New(cfg *config.Config, opts Options) (*Provider, error) {
	opts.CallTimeout = cmp.Or(opts.CallTimeout, 10*time.Second)
	opts.StartWait = cmp.Or(opts.StartWait, 5*time.Second)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Provider{cfg: cfg, opts: opts, log: opts.Logger, clients: map[string]*vcenter.Client{}, dirs: map[string]*config.Directory{}}
	p.events = newNotifier()
	p.secrets = newSecrets(p.log, p.wake)
	var vcs []inventory.VCenterConfig
	for _, vc := range cfg.VCenters {
		client, err := vcenter.New(vcenter.Config{
			Name:        vc.Tenant,
			Server:      vc.Server,
			Port:        vc.Port,
			Insecure:    vc.InsecureFlag,
			CAFile:      vc.CAFile,
			Thumbprint:  vc.Thumbprint,
			UserAgent:   UserAgent,
			Credentials: p.credentials(vc),
			CallTimeout: opts.CallTimeout,
			MaxWait:     opts.MaxWait,
			RoundTrips:  vc.SOAPRoundtripCount,
			OnState:     func(s vcenter.State) { p.events.state(vc, s) },
			Logger:      p.log,
		})
		if err != nil {
			return nil, err
		}
		p.clients[vc.Tenant] = client
		vcs = append(vcs, inventory.VCenterConfig{Client: client, Datacenters: vc.Datacenters})
	}
	inv, err := inventory.New(inventory.Config{
		VCenters:   vcs,
		Categories: inventory.Categories{Region: cfg.Labels.Region, Zone: cfg.Labels.Zone},
		TagRefresh: opts.TagRefresh,
		Logger:     p.log,
	})
	if err != nil {
		return nil, err
	}
	p.inv = inv
	return p, nil
}

// Initialize implements [cloudprovider.Interface]: it begins to follow the vCenters and the Secrets until stop closes,
// and returns when the inventories are in sync or StartWait has passed.
func (p *Provider) Initialize(builder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	p.start(wait.ContextForChannel(stop), builder.ClientOrDie(UserAgent))
}

func (p *Provider) start(ctx context.Context, client kubernetes.Interface) {
	for _, w := range p.cfg.Warnings {
		p.log.Warn("cloud config", "warning", w)
	}
	p.running.Go(func() { p.events.run(ctx, client) })
	p.secrets.follow(ctx, client, &p.running)
	for _, dir := range p.dirs {
		p.running.Go(func() { dir.Run(ctx) })
	}
	p.running.Go(func() {
		if err := p.inv.Run(ctx); err != nil {
			p.log.Error("inventory ended", "err", err)
		}
	})
	waitCtx, cancel := context.WithTimeout(ctx, p.opts.StartWait)
	defer cancel()
	if err := p.inv.WaitSynced(waitCtx); err != nil && ctx.Err() == nil {
		p.log.Warn("start without every inventory in sync", "err", err)
	}
}

// Wait returns when everything that Initialize started has ended after its stop channel closed, sessions logged out.
func (p *Provider) Wait() { p.running.Wait() }

// credentials returns where a vCenter's user and password come from.
func (p *Provider) credentials(vc config.VCenter) vcenter.CredentialsFunc {
	if vc.SecretsDirectory != "" {
		dir := p.directory(vc.SecretsDirectory)
		return func(context.Context) (vcenter.Credentials, error) { return plain(dir.Credentials(vc.Server)) }
	}
	if vc.Secret == (config.SecretRef{}) {
		return func(context.Context) (vcenter.Credentials, error) {
			return vcenter.Credentials{User: vc.User, Password: vc.Password}, nil
		}
	}
	p.secrets.want(vc.Secret)
	return func(ctx context.Context) (vcenter.Credentials, error) {
		return p.secrets.credentials(ctx, vc.Secret, vc.Server)
	}
}

// directory returns the one of that path, which is followed from start on.
func (p *Provider) directory(path string) *config.Directory {
	if p.dirs[path] == nil {
		p.dirs[path] = config.NewDirectory(path, 0, func(err error) {
			p.log.Info("secrets directory changed", "directory", path, "err", err)
			for _, vc := range p.cfg.VCenters {
				if vc.SecretsDirectory == path {
					p.clients[vc.Tenant].CredentialsChanged()
				}
			}
		})
	}
	return p.dirs[path]
}

// wake tells the vCenters whose credentials are in the Secret that it has changed.
func (p *Provider) wake(ref config.SecretRef) {
	for _, vc := range p.cfg.VCenters {
		if vc.Secret == ref {
			p.clients[vc.Tenant].CredentialsChanged()
		}
	}
}

// ProviderName implements [cloudprovider.Interface].
func (p *Provider) ProviderName() string { return Name }

// HasClusterID implements [cloudprovider.Interface]. Nothing here is tagged with a cluster.
func (p *Provider) HasClusterID() bool { return true }

// InstancesV2 implements [cloudprovider.Interface].
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) { return p, true }

// Instances implements [cloudprovider.Interface]: superseded by InstancesV2.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones implements [cloudprovider.Interface]: InstancesV2 tells zones too.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// LoadBalancer implements [cloudprovider.Interface]: there are none.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

// Routes implements [cloudprovider.Interface]: there are none.
func (p *Provider) Routes() (cloudprovider.Routes, bool) { return nil, false }

// Clusters implements [cloudprovider.Interface]: there are none.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// vcenterConfig returns the configuration of the vCenter that holds vm.
func (p *Provider) vcenterConfig(vm *inventory.VM) (config.VCenter, error) {
	for _, vc := range p.cfg.VCenters {
		if vc.Tenant == vm.VCenter {
			return vc, nil
		}
	}
	return config.VCenter{}, fmt.Errorf("vm %s: vcenter is not configured", vm)
}
