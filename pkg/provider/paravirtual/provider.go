package paravirtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nodeevent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/follow"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/supervisor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/vmoperator"
)

const (
	// Name is the value of --cloud-provider.
	Name = "vsphere-paravirtual"
	// UserAgent identifies the provider to both API servers. It is upstream's.
	UserAgent = "vsphere-paravirtual-cloud-controller-manager"
	// providerName is what a providerID begins with. Cluster API needs it to be the same as without a Supervisor
	// (kubernetes/cloud-provider-vsphere#447).
	providerName = "vsphere"
)

// Options configure a [Provider].
type Options struct {
	// Supervisor is where the Supervisor is.
	Supervisor supervisor.Config
	// OwnerReferenceFile has the reference to the cluster's object on the Supervisor; DefaultOwnerReferenceFile when empty.
	OwnerReferenceFile string
	// ClusterName is the cluster's name on the Supervisor (--cluster-name).
	ClusterName string
	// APIVersion is the version of VM Operator's API; vmoperator.DefaultVersion when empty.
	APIVersion string
	// IPFamily selects the Nodes' addresses; IPv4 when empty.
	IPFamily IPFamily
	// Legacy selects VMs for load balancers by labels of capw.vmware.com instead of capv.vmware.com.
	Legacy bool
	// PropagateAnnotations copies a Service's annotations to its VirtualMachineService.
	PropagateAnnotations bool
	// RoutablePods requests Pod subnets for Nodes, and enables routes.
	RoutablePods bool
	// VPC reports that the Supervisor's network is a VPC of NSX. It then needs PodIPPoolType.
	VPC           bool
	PodIPPoolType PodIPPoolType
	// NodeLabels are added to every Node when it is initialized.
	NodeLabels map[string]string
	// StartWait is the longest that Initialize waits for the VirtualMachines; 5 s when zero.
	StartWait time.Duration
	// FilePeriod is how often the namespace's file is checked for a change; 2 s when zero.
	FilePeriod time.Duration
	// ListPeriod is how often objects are listed where the service account may not watch them; 5 s when zero.
	ListPeriod time.Duration
	// Resyncer, if set, is notified of nodes that the controllers should sync before their next period.
	Resyncer Resyncer
	// Logger receives the provider's log; discarded when nil.
	Logger *slog.Logger
}

// Resyncer is notified of changes of VirtualMachines. Its methods are safe for concurrent use and do not block.
type Resyncer interface {
	// Changed reports that a VM, given by providerID, has appeared, changed or disappeared.
	Changed(providerID string)
}

// PodIPPoolType is where the addresses of routable Pods in a VPC are from.
type PodIPPoolType string

// The types of Pod address pools.
const (
	PublicPool  PodIPPoolType = "Public"
	PrivatePool PodIPPoolType = "Private"
)

// Check validates the options. Its errors name the flags. [New] calls it too.
func (o *Options) Check() error {
	if o.ClusterName == "" {
		return errors.New("--cluster-name is empty: it is the cluster's name on the Supervisor, by which load balancers find its VMs")
	}
	if !o.IPFamily.valid() {
		return fmt.Errorf("--cluster-ip-family is %q; use %s", o.IPFamily, strings.Join(families(), ", "))
	}
	switch {
	case !o.VPC && o.PodIPPoolType != "":
		return errors.New("--pod-ip-pool-type is set without --enable-vpc-mode: it is for VPC networks only")
	case o.VPC && o.PodIPPoolType == "":
		return errors.New("--enable-vpc-mode needs --pod-ip-pool-type=Public or =Private")
	case o.VPC && o.PodIPPoolType != PublicPool && o.PodIPPoolType != PrivatePool:
		return fmt.Errorf("--pod-ip-pool-type is %q; use %s or %s", o.PodIPPoolType, PublicPool, PrivatePool)
	case o.RoutablePods && !o.VPC && o.IPFamily.has6():
		return fmt.Errorf("--cluster-ip-family=%s with the route controller needs --enable-vpc-mode: a Tier-1 network has IPv4 Pod subnets only", o.IPFamily)
	}
	return nil
}

// Provider implements [cloudprovider.Interface]. Create it with [New]; it starts work at Initialize. All methods are safe for
// concurrent use.
type Provider struct {
	opts       Options
	log        *slog.Logger
	connection *supervisor.Connection
	vms        atomic.Pointer[machines] // nil before Initialize
	deletions  witnessed
	events     nodeEvents
	nodes      atomic.Pointer[corelisters.NodeLister]
	nodesKnown atomic.Pointer[cache.InformerSynced]
	recorder   atomic.Pointer[record.EventRecorder] // nil before Initialize
	nodeChange chan struct{}                        // wakes the controller of Pod subnets

	begin   sync.Once
	closed  context.Context // ends at Close
	close   context.CancelFunc
	running sync.WaitGroup
}

// machines are the VirtualMachines of one namespace.
type machines = follow.Store[vmoperator.VirtualMachine, *vmoperator.VirtualMachine]

var (
	_ cloudprovider.Interface    = (*Provider)(nil)
	_ cloudprovider.InformerUser = (*Provider)(nil)
)

// New returns a provider. It reads the files that it needs and makes no call. Its errors are about what prevents a start.
func New(opts Options) (*Provider, error) {
	opts.APIVersion = cmp.Or(opts.APIVersion, vmoperator.DefaultVersion)
	opts.IPFamily = cmp.Or(opts.IPFamily, IPv4)
	opts.OwnerReferenceFile = cmp.Or(opts.OwnerReferenceFile, DefaultOwnerReferenceFile)
	opts.StartWait = cmp.Or(opts.StartWait, 5*time.Second)
	opts.FilePeriod = cmp.Or(opts.FilePeriod, 2*time.Second)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.Supervisor.UserAgent, opts.Supervisor.Logger = UserAgent, opts.Logger
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if _, err := readOwner(opts.OwnerReferenceFile); err != nil {
		return nil, err
	}
	connection, err := supervisor.New(opts.Supervisor)
	if err != nil {
		return nil, err
	}
	p := &Provider{
		opts: opts, log: opts.Logger, connection: connection,
		events: nodeEvents{nodeevent.New(opts.Logger)}, nodeChange: make(chan struct{}, 1),
	}
	p.closed, p.close = context.WithCancel(context.Background())
	return p, nil
}

// Initialize implements [cloudprovider.Interface]: it starts watching the VirtualMachines until stop closes or Close is called. It
// returns when they are read, the first attempt has failed, or after StartWait. The second call does nothing.
func (p *Provider) Initialize(builder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	p.begin.Do(func() {
		ctx, cancel := context.WithCancel(wait.ContextForChannel(stop))
		context.AfterFunc(p.closed, cancel)
		p.start(ctx, builder.ClientOrDie(UserAgent))
	})
}

func (p *Provider) start(ctx context.Context, client kubernetes.Interface) {
	p.running.Go(func() { p.record(ctx, client) })
	first := p.follow()
	p.running.Go(func() { p.followFiles(ctx, first) })
	if p.opts.RoutablePods {
		p.running.Go(func() { p.podSubnets(client).run(ctx) })
	}
	timeout := time.NewTimer(p.opts.StartWait)
	defer timeout.Stop()
	select {
	case <-first.Tried():
	case <-timeout.C:
	case <-ctx.Done():
	}
	if err := first.Current(); err != nil && ctx.Err() == nil {
		p.log.Warn("starting without the virtual machines of the supervisor", "err", err)
	}
}

// record delivers Events until ctx ends.
func (p *Provider) record(ctx context.Context, client kubernetes.Interface) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	var recorder record.EventRecorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: UserAgent})
	p.recorder.Store(&recorder)
	p.events.Attach(recorder)
	<-ctx.Done()
	p.recorder.Store(nil)
	p.events.Attach(nil)
}

// event writes an Event about an object of the guest cluster.
func (p *Provider) event(object *corev1.Service, kind, reason, message string) {
	if recorder := p.recorder.Load(); recorder != nil {
		(*recorder).Event(object, kind, reason, nodeevent.Note(message))
	}
}

// follow starts to follow the VirtualMachines of the namespace that the credentials name, and makes them current.
func (p *Provider) follow() *machines {
	namespace, err := p.connection.Namespace()
	if err != nil { // the file was readable in New
		p.log.Error("namespace is unknown", "err", err)
	}
	m := p.machines(namespace)
	p.vms.Store(m)
	return m
}

func (p *Provider) machines(namespace string) *machines {
	return follow.New[vmoperator.VirtualMachine](follow.Config[vmoperator.VirtualMachine]{
		Connection: p.connection,
		Resource:   vmoperator.VirtualMachines(p.opts.APIVersion),
		Namespace:  namespace,
		Period:     p.opts.ListPeriod,
		Prepare:    (*vmoperator.VirtualMachine).Prepare,
		OnChange:   p.machineChanged,
		Logger:     p.log,
	})
}

// followFiles runs m, and replaces it when the credentials name another namespace, until ctx ends.
func (p *Provider) followFiles(ctx context.Context, m *machines) {
	defer p.connection.Close()
	tick := time.NewTicker(p.opts.FilePeriod)
	defer tick.Stop()
	for ctx.Err() == nil {
		running, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.Run(running)
		}()
		next := p.nextNamespace(ctx, tick.C, m.Namespace())
		stop()
		<-done
		if next == "" {
			return
		}
		p.log.Info("namespace of the supervisor has changed", "was", m.Namespace(), "is", next)
		m = p.machines(next)
		p.deletions.clear()
		p.vms.Store(m)
	}
}

// nextNamespace returns the namespace of the credentials when it is not current any more, or "" when ctx ends.
func (p *Provider) nextNamespace(ctx context.Context, tick <-chan time.Time, current string) string {
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-tick:
		}
		// A file that is being replaced is not readable for a moment.
		if name, err := p.connection.Namespace(); err == nil && name != current {
			return name
		}
	}
}

// machineChanged passes a change on to the controllers. reported: the Supervisor reported it on a watch.
func (p *Provider) machineChanged(before, after *vmoperator.VirtualMachine, reported bool) {
	if after == nil && reported {
		p.deletions.add(before)
	}
	if p.opts.Resyncer == nil {
		return
	}
	var passed match.UUID
	for _, vm := range []*vmoperator.VirtualMachine{before, after} {
		if vm != nil && vm.UUID != passed {
			passed = vm.UUID
			p.opts.Resyncer.Changed(match.ProviderID(vm.UUID))
		}
	}
}

// Close stops everything that Initialize started, as if its stop channel had closed. It does not wait.
func (p *Provider) Close() { p.close() }

// Wait returns when everything that Initialize started has ended.
func (p *Provider) Wait() { p.running.Wait() }

// SetInformers implements [cloudprovider.InformerUser].
func (p *Provider) SetInformers(factory informers.SharedInformerFactory) {
	nodes := factory.Core().V1().Nodes()
	lister, synced := nodes.Lister(), cache.InformerSynced(nodes.Informer().HasSynced)
	p.nodes.Store(&lister)
	p.nodesKnown.Store(&synced)
	// AddEventHandler can fail only after the informer has stopped.
	_, _ = nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify.Wake(p.nodeChange) },
		UpdateFunc: func(any, any) { notify.Wake(p.nodeChange) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if node, ok := o.(*corev1.Node); ok {
				p.events.Forget(node)
			}
			notify.Wake(p.nodeChange)
		},
	})
}

// Health returns the state of the Supervisor for the probes; nil before Initialize.
func (p *Provider) Health() []health.Status {
	vms := p.vms.Load()
	if vms == nil {
		return nil
	}
	state, doubt := p.connection.State(), vms.Current()
	if doubt == nil {
		doubt = state.Err
	}
	return []health.Status{{Tenant: "supervisor", Connected: state.Connected, Synced: vms.Current() == nil, Err: doubt}}
}

// ProviderName implements [cloudprovider.Interface].
func (p *Provider) ProviderName() string { return providerName }

// HasClusterID implements [cloudprovider.Interface].
func (p *Provider) HasClusterID() bool { return true }

// InstancesV2 implements [cloudprovider.Interface].
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) { return p, true }

// Instances implements [cloudprovider.Interface]: callers use InstancesV2.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones implements [cloudprovider.Interface]: callers use InstancesV2.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// LoadBalancer implements [cloudprovider.Interface].
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return loadBalancers{p}, true }

// Routes implements [cloudprovider.Interface]. It has routes only with RoutablePods.
func (p *Provider) Routes() (cloudprovider.Routes, bool) { return routes{p}, p.opts.RoutablePods }

// Clusters implements [cloudprovider.Interface]: the provider has no clusters.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// IPFamily selects the addresses of Nodes and their order. The values are upstream's.
type IPFamily string

// The families. A cluster of one family gets an address of the other one only if the VM has no other, as in upstream's v1.36.
const (
	IPv4     IPFamily = "ipv4"
	IPv6     IPFamily = "ipv6"
	IPv4IPv6 IPFamily = "ipv4ipv6"
	IPv6IPv4 IPFamily = "ipv6ipv4"
)

func families() []string {
	return []string{string(IPv4), string(IPv6), string(IPv4IPv6), string(IPv6IPv4)}
}

func (f IPFamily) valid() bool { return slices.Contains(families(), string(f)) }

func (f IPFamily) has6() bool { return f != IPv4 }

func (f IPFamily) dual() bool { return f == IPv4IPv6 || f == IPv6IPv4 }

func (f IPFamily) first6() bool { return f == IPv6 || f == IPv6IPv4 }
