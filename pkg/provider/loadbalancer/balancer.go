package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
)

// ClassAnnotation is the annotation of a Service that names its class.
const ClassAnnotation = "loadbalancer.vmware.io/class"

// Config configures a [Balancer]. All but Event and Logger are required.
type Config struct {
	Client   *nsx.Client
	Settings config.LoadBalancer
	// ClusterUID returns what identifies the cluster for ever: the UID of its namespace kube-system.
	ClusterUID func(context.Context) (string, error)
	// Services returns all Services of the cluster, read from the API server, and Service one: its error is NotFound if the
	// API server has none.
	Services func(context.Context) ([]corev1.Service, error)
	Service  func(ctx context.Context, namespace, name string) (*corev1.Service, error)
	// Event writes an Event on a Service; none when nil. It must not block.
	Event func(s *corev1.Service, kind, reason, message string)
	// Logger receives the log; discarded when nil.
	Logger *slog.Logger
}

// Balancer makes load balancers in NSX. Create it with [New]. All methods are safe for concurrent use.
type Balancer struct {
	cfg    Config
	log    *slog.Logger
	view   *view
	locks  keyLocks
	checks chan check
	// attached is held for reading while virtual servers are made, and for writing while the load balancer service is deleted.
	attached sync.RWMutex
	// making is held while the load balancer service is made.
	making sync.Mutex
	// realized reports that NSX has realized the load balancer service.
	realized atomic.Bool
	left     leftovers
}

var _ cloudprovider.LoadBalancer = (*Balancer)(nil)

// New returns a balancer. It makes no calls.
func New(cfg Config) *Balancer {
	b := &Balancer{cfg: cfg, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), checks: make(chan check, maxChecks)}
	b.view = &view{client: cfg.Client, owner: b.owner(), ids: b.poolIDs}
	return b
}

// GetLoadBalancer implements [cloudprovider.LoadBalancer]. A load balancer exists while NSX has any object of it.
func (b *Balancer) GetLoadBalancer(ctx context.Context, cluster string, s *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	have, err := b.find(ctx, cluster, s)
	if err != nil {
		return nil, false, b.explained(err)
	}
	if have.empty() {
		return nil, false, nil
	}
	return statusOf(have.address()), true, nil
}

// GetLoadBalancerName implements [cloudprovider.LoadBalancer].
func (b *Balancer) GetLoadBalancerName(_ context.Context, cluster string, s *corev1.Service) string {
	return Name(cluster, s)
}

// Name returns the name of a Service's load balancer: that of its virtual servers and pools.
func Name(cluster string, s *corev1.Service) string { return "cluster:" + cluster + ":" + keyOf(s) }

// EnsureLoadBalancer implements [cloudprovider.LoadBalancer].
func (b *Balancer) EnsureLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	defer b.locks.lock(keyOf(s))()
	e := &ensuring{Balancer: b, cluster: cluster, service: s, nodes: nodes}
	address, err := e.run(ctx)
	if err != nil && (lost(err) || nsx.InUse(err)) && ctx.Err() == nil {
		// Another cluster has deleted the load balancer service that both used, or a user a pool, or a call of a process that has
		// ended arrived late: with what NSX has now.
		address, err = e.run(ctx)
	}
	if err != nil {
		return nil, b.explained(err)
	}
	return statusOf(address), nil
}

// UpdateLoadBalancer implements [cloudprovider.LoadBalancer]: the pools get the nodes.
func (b *Balancer) UpdateLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) error {
	defer b.locks.lock(keyOf(s))()
	have, err := b.find(ctx, cluster, s)
	if err != nil {
		return b.explained(err)
	}
	var updates []func(context.Context) error
	for _, pool := range have.pools {
		updates = append(updates, func(ctx context.Context) error {
			_, err := b.update(ctx, pool, func(o nsx.Object) bool { return setMembers(o, cluster, nodes) })
			return err
		})
	}
	return b.explained(together(ctx, updates...))
}

// EnsureLoadBalancerDeleted implements [cloudprovider.LoadBalancer].
func (b *Balancer) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, s *corev1.Service) error {
	defer b.locks.lock(keyOf(s))()
	have, err := b.find(ctx, cluster, s)
	if err != nil {
		return b.explained(err)
	}
	b.noteForeign(s, have)
	return b.explained(errors.Join(b.deleteOf(ctx, cluster, s, have), b.deleteUnusedService(ctx, cluster)))
}

// statusOf returns the status of a Service with an address.
func statusOf(address string) *corev1.LoadBalancerStatus {
	status := &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{}}
	if address != "" {
		status.Ingress = append(status.Ingress, corev1.LoadBalancerIngress{IP: address})
	}
	return status
}

// lost reports whether err means that an object which was there has gone.
func lost(err error) bool { return nsx.BadPath(err) || nsx.NotFound(err) }

// poolIDs returns the IP pools of the classes. A pool that does not exist is left out: Services of its class say so.
func (b *Balancer) poolIDs(ctx context.Context) ([]string, error) {
	seen := map[string]bool{}
	var all []string
	for name, c := range b.cfg.Settings.Classes {
		id, err := b.poolID(ctx, class{name, c})
		if err != nil && !errors.Is(err, errNoSuchName) {
			return nil, err
		}
		if id != "" && !seen[id] {
			seen[id] = true
			all = append(all, id)
		}
	}
	return all, nil
}

// class is a class of load balancers with its name.
type class struct {
	name string
	config.LoadBalancerClass
}

// poolID returns the IP pool of a class.
func (b *Balancer) poolID(ctx context.Context, c class) (string, error) {
	if c.IPPoolID != "" {
		return c.IPPoolID, nil
	}
	found, err := b.view.named(ctx, ipPools, "", c.IPPoolName)
	if err != nil {
		return "", &classError{class: c.name, what: "IP pool", err: err}
	}
	return path.Base(found), nil
}

// profilePath returns the application profile of a class for a protocol.
func (b *Balancer) profilePath(ctx context.Context, c class, p corev1.Protocol) (string, error) {
	at, name, kind := c.TCPAppProfilePath, c.TCPAppProfileName, "LBFastTcpProfile"
	if p == corev1.ProtocolUDP {
		at, name, kind = c.UDPAppProfilePath, c.UDPAppProfileName, "LBFastUdpProfile"
	}
	if at != "" {
		return at, nil
	}
	found, err := b.view.named(ctx, profiles, kind, name)
	if err != nil {
		return "", &classError{class: c.name, what: "application profile for " + string(p), err: err}
	}
	return found, nil
}

// classNamed returns a configured class.
func (b *Balancer) classNamed(name string) (class, bool) {
	c, ok := b.cfg.Settings.Classes[name]
	return class{name, c}, ok
}

// wanted returns the name of the class of a Service.
func wanted(s *corev1.Service) string {
	return cmp.Or(strings.TrimSpace(s.Annotations[ClassAnnotation]), config.DefaultClass)
}

// warn writes a warning on a Service.
func (b *Balancer) warn(s *corev1.Service, reason, message string) {
	if b.cfg.Event != nil {
		b.cfg.Event(s, corev1.EventTypeWarning, reason, message)
	}
}
