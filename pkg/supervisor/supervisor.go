package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Options configure [Start]. All fields but Logger are required.
type Options struct {
	// REST is the configuration of an administrator of the API server.
	REST  *rest.Config
	Setup Setup
	// VCenter has the VMs.
	VCenter VCenter
	// Storage has the volumes.
	Storage Storage
	// Addresses are those of the load balancer, in the order in which they are given.
	Addresses []netip.Addr
	// TokenLifetime is that of the tokens of guest clusters; at least ten minutes. A token is renewed at four fifths of it.
	TokenLifetime time.Duration
	// OnToken is called with each token before it is used: a secret.
	OnToken func(token string) error
	// OnVolume is called when a claim has a volume, by its id in the vCenter, and when the volume is gone.
	OnVolume func(claim, id string, gone bool)
	// OnChange is called when [Supervisor.Machines] or [Supervisor.Services] may return something else, also if VM Operator is stopped.
	// It must return at once.
	OnChange func()
	Logger   *slog.Logger
}

// Setup is what a Supervisor is set up with.
type Setup struct {
	Namespaces []Namespace
	Guests     []Guest
	Zones      []Zone
	// Images are the templates of the vCenter.
	Images []string
	// VPC: the network is a VPC of NSX.
	VPC bool
}

// Namespace is a vSphere Namespace.
type Namespace struct {
	Name                            string
	Zones, StoragePolicies, Classes []string
}

// Zone is a zone of the vCenter, with its compute clusters.
type Zone struct {
	Name     string
	Clusters []string
}

// Guest is a guest cluster. VMs are those that it has from the start.
type Guest struct {
	Name, Namespace string
	VMs             []GuestVM
}

// GuestVM is a VM that gets a VirtualMachine.
type GuestVM struct {
	Name, Zone   string
	ControlPlane bool
}

// VM is a VM of the vCenter.
type VM struct {
	Name, UniqueID, BIOSUUID, InstanceUUID string
	// Power is on, off or suspended.
	Power          string
	Host, HostName string
	Addresses      []netip.Addr
	// MAC is the address of the first network adapter, if the guest reports it.
	MAC string
	// Tools: they run in the guest.
	Tools bool
	Zone  string
}

// Spec is a VM to create.
type Spec struct {
	Name, Image, Zone      string
	BIOSUUID, InstanceUUID string
	CPUs                   int
	MemoryMiB              int64
}

// VCenter is the vCenter of a Supervisor. Its methods may be called from any goroutine.
type VCenter interface {
	// VM returns the VM with that reference, ByName those with that name.
	VM(uniqueID string) (VM, bool)
	ByName(name string) []VM
	// Create clones an image and powers the VM on. The VM may not be in VMs yet when it returns.
	Create(context.Context, Spec) error
	// SetPower makes the power state of a VM on, off or suspended.
	SetPower(ctx context.Context, vm VM, power string) error
	Destroy(ctx context.Context, vm VM) error
}

// Supervisor is a running Supervisor. Create one with [Start]; its methods may be called from any goroutine.
type Supervisor struct {
	opts    Options
	core    kubernetes.Interface
	dynamic dynamic.Interface
	mu      sync.Mutex // guards the two maps
	listers map[schema.GroupVersionResource]cache.GenericLister
	loops   map[schema.GroupVersionResource]*loop
	pool    pool
	nets    blocks
	pause   pause
	zones   zoning
	tokens  *tokens
	end     context.CancelFunc
	running sync.WaitGroup
}

// workers is the number of objects of a kind that are handled at once.
const workers = 4

// Start defines the resources, creates the objects of the setup and starts the controllers. It returns when VirtualMachines are known.
// Call [Supervisor.Stop] to end it.
func Start(ctx context.Context, o Options) (*Supervisor, error) {
	core, err := kubernetes.NewForConfig(o.REST)
	if err != nil {
		return nil, err
	}
	resources, err := dynamic.NewForConfig(o.REST)
	if err != nil {
		return nil, err
	}
	return start(ctx, o, core, resources)
}

// start is [Start] with clients.
func start(ctx context.Context, o Options, core kubernetes.Interface, resources dynamic.Interface) (*Supervisor, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnChange == nil {
		o.OnChange = func() {}
	}
	s := &Supervisor{opts: o, core: core, dynamic: resources, pool: newPool(o.Addresses), nets: newBlocks()}
	s.tokens = &tokens{s: s}
	if err := define(ctx, s.dynamic, true); err != nil {
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	if err := s.setUp(ctx, s.setUpGuests); err != nil {
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s.end = end
	s.listers, s.loops = map[schema.GroupVersionResource]cache.GenericLister{}, map[schema.GroupVersionResource]*loop{}
	err := s.control(ctx, life, s.rememberServices, reconcilers{machines(): s.reconcileMachine, machineServices(): s.reconcileServiceAndReport})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("supervisor: %w", err), s.Stop(ctx))
	}
	s.running.Go(func() { s.tokens.renew(life) })
	s.running.Go(func() {
		if err := s.complete(life); err != nil && life.Err() == nil {
			o.Logger.Error("supervisor", "err", err)
		}
	})
	return s, nil
}

// complete adds what no guest cluster needs to start: the resources of the network, and what describes the vCenter.
func (s *Supervisor) complete(ctx context.Context) error {
	if err := define(ctx, s.dynamic, false); err != nil {
		return err
	}
	all := storage{s}.reconcilers()
	maps.Copy(all, reconcilers{
		routeSets(): s.reconcileRouteSet, staticRoutes(): s.reconcileStaticRoute, ipPools(): s.reconcileIPPool, allocations(): s.reconcileAllocation,
	})
	if s.opts.Setup.VPC {
		all[subnetPorts()] = s.reconcilePort
	}
	err := errors.Join(s.setUp(ctx, s.setUpNamespace), s.control(ctx, ctx, s.rememberBlocks, all))
	s.loop(machines()).addAll(s.lister(machines())) // those with volumes waited for the attachments
	return errors.Join(err, s.portsOfAll())
}

// reconcilers handle the objects of resources.
type reconcilers map[schema.GroupVersionResource]func(ctx context.Context, key string) error

// control starts controllers, which end with life. When all objects are known and before any is handled, remember is called for each
// namespace.
func (s *Supervisor) control(ctx, life context.Context, remember func(namespace string) error, all reconcilers) error {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(s.dynamic, 0)
	var synced []cache.DoneChecker
	var loops []*loop
	for gvr, reconcile := range all {
		l := newLoop(gvr.Resource, reconcile, &s.pause, s.opts.Logger)
		loops = append(loops, l)
		informer := factory.ForResource(gvr)
		s.mu.Lock()
		s.loops[gvr], s.listers[gvr] = l, informer.Lister()
		s.mu.Unlock()
		add := l.addObject
		switch gvr {
		case machines(): // Endpoints follow them
			add = func(o any) { l.addObject(o); s.servicesOf(o); s.portOf(o); s.opts.OnChange() }
		case machineServices():
			add = func(o any) { l.addObject(o); s.opts.OnChange() }
		case attachments():
			add = func(o any) { l.addObject(o); storage{s}.changed(o) }
		}
		handler, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, o any) { add(o) }, DeleteFunc: add})
		if err != nil {
			return err
		}
		synced = append(synced, handler.HasSyncedChecker())
	}
	factory.Start(life.Done())
	if !cache.WaitFor(ctx, "", synced...) {
		return errors.Join(errors.New("the API server does not list the resources"), context.Cause(ctx))
	}
	for _, n := range s.opts.Setup.Namespaces {
		if err := remember(n.Name); err != nil {
			return err
		}
	}
	for _, l := range loops {
		for range workers {
			s.running.Go(func() { l.work(life) })
		}
		s.running.Go(func() { <-life.Done(); l.queue.ShutDown() })
	}
	s.running.Go(func() { <-life.Done(); factory.Shutdown() })
	return nil
}

func (s *Supervisor) loop(gvr schema.GroupVersionResource) *loop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loops[gvr]
}

func (s *Supervisor) lister(gvr schema.GroupVersionResource) cache.GenericLister {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listers[gvr]
}

// Stop ends the controllers. Objects stay in the API server.
func (s *Supervisor) Stop(ctx context.Context) error {
	s.end()
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("supervisor: controllers still run: %w", context.Cause(ctx))
	}
}

// VMsChanged reports VMs that have changed, by their names.
func (s *Supervisor) VMsChanged(names ...string) {
	for _, n := range s.opts.Setup.Namespaces {
		for _, name := range names {
			s.loop(machines()).queue.Add(n.Name + "/" + name)
		}
	}
}

// SetOperator stops or continues VM Operator and the other controllers: stopped, no status changes.
func (s *Supervisor) SetOperator(running bool) {
	s.pause.set(!running)
	s.opts.OnChange()
}

// SetPoolEmpty takes all addresses from the load balancer that are not in use, or gives them back.
func (s *Supervisor) SetPoolEmpty(empty bool) {
	s.pool.setEmpty(empty)
	s.opts.OnChange()
	if !empty {
		s.loop(machineServices()).addAll(s.lister(machineServices()))
	}
}
