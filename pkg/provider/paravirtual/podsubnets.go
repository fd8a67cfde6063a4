package paravirtual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nodeevent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/follow"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/supervisor"
)

const (
	// Sizes of a Node's Pod subnet, which are upstream's: a /24, and 256 addresses.
	subnetPrefix  = 24
	subnetSize    = 256
	subnetFamily  = "ipv4"
	poolSuffix    = "-ippool"
	subnetsPeriod = time.Minute

	// ReasonPodSubnet is of Events on a Node that gets no Pod subnet, or has another one than NSX allocated.
	ReasonPodSubnet = "PodSubnetUnavailable"
	// podSubnetConcern is whether a Node has its Pod subnet.
	podSubnetConcern nodeevent.Concern = 3
)

// podSubnets requests a Pod subnet from NSX for each Node that has none, and sets it on the Node: with an IPPool of the cluster, or
// in a VPC with an IPAddressAllocation for each Node.
type podSubnets struct {
	*Provider
	client      kubernetes.Interface
	namespace   string
	pools       *follow.Store[nsx.IPPool, *nsx.IPPool]
	allocations *follow.Store[nsx.IPAddressAllocation, *nsx.IPAddressAllocation]
}

// podSubnets returns the controller for the namespace that the credentials name now.
func (p *Provider) podSubnets(client kubernetes.Interface) *podSubnets {
	namespace, err := p.connection.Namespace()
	if err != nil {
		p.log.Error("namespace is unknown", "err", err)
	}
	s := &podSubnets{Provider: p, client: client, namespace: namespace}
	if p.opts.VPC {
		s.allocations = follow.New[nsx.IPAddressAllocation](follow.Config[nsx.IPAddressAllocation]{
			Connection: p.connection, Resource: nsx.IPAddressAllocations(), Namespace: namespace, Period: p.opts.ListPeriod, Logger: p.log,
			OnChange: func(_, _ *nsx.IPAddressAllocation, _ bool) { notify.Wake(p.nodeChange) },
		})
	} else {
		s.pools = follow.New[nsx.IPPool](follow.Config[nsx.IPPool]{
			Connection: p.connection, Resource: nsx.IPPools(), Namespace: namespace, Period: p.opts.ListPeriod, Logger: p.log,
			OnChange: func(_, _ *nsx.IPPool, _ bool) { notify.Wake(p.nodeChange) },
		})
	}
	return s
}

// run works until ctx ends.
func (s *podSubnets) run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if s.allocations != nil {
			s.allocations.Run(ctx)
		} else {
			s.pools.Run(ctx)
		}
	}()
	defer func() { <-done }()
	tick := time.NewTicker(subnetsPeriod)
	defer tick.Stop()
	for {
		if err := s.reconcile(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("pod subnets", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.nodeChange:
		}
	}
}

// reconcile makes the requests those of the cluster's Nodes, and sets what is allocated. Nothing is released before the Nodes are
// known.
func (s *podSubnets) reconcile(ctx context.Context) error {
	synced := s.nodesKnown.Load()
	if synced == nil || !cache.WaitForCacheSync(ctx.Done(), *synced) {
		return nil
	}
	nodes := s.allNodes()
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	if s.opts.VPC {
		return s.reconcileVPC(ctx, nodes)
	}
	return s.reconcilePool(ctx, nodes)
}

func (s *podSubnets) reconcilePool(ctx context.Context, nodes []*corev1.Node) error {
	name := s.opts.ClusterName + poolSuffix
	pool := &nsx.IPPool{}
	err := s.connection.Get(ctx, nsx.IPPools(), s.namespace, name, pool)
	create := supervisor.IsObjectNotFound(err)
	if err != nil && !create {
		return fmt.Errorf("IPPool %s/%s: %w", s.namespace, name, err)
	}
	wanted := requests(pool.Spec.Subnets, nodes)
	switch {
	case create:
		owner, err := readOwner(s.opts.OwnerReferenceFile)
		if err != nil {
			return err
		}
		pool = &nsx.IPPool{
			TypeMeta:   typeMeta(nsx.GroupT1, "IPPool"),
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace, OwnerReferences: []metav1.OwnerReference{owner}},
		}
		pool.Spec.Subnets = wanted
		err = s.connection.Create(ctx, nsx.IPPools(), s.namespace, pool, nil)
		return wrapUnlessConflict(err, "create IPPool "+s.namespace+"/"+name)
	case !slices.Equal(pool.Spec.Subnets, wanted):
		pool.Spec.Subnets = wanted
		err = s.connection.Update(ctx, nsx.IPPools(), s.namespace, name, pool, nil)
		if err := wrapUnlessConflict(err, "update IPPool "+s.namespace+"/"+name); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		if i := slices.IndexFunc(pool.Status.Subnets, func(a nsx.Subnet) bool { return a.Name == n.Name }); i >= 0 {
			err = errors.Join(err, s.assign(ctx, n, pool.Status.Subnets[i].CIDR))
		}
	}
	return err
}

// requests returns the requests of a pool with one for each Node that has no Pod subnet yet, and none for a Node that does not exist.
// An empty list of Nodes releases nothing.
func requests(have []nsx.SubnetRequest, nodes []*corev1.Node) []nsx.SubnetRequest {
	wanted := []nsx.SubnetRequest{}
	for _, r := range have {
		if len(nodes) == 0 || slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Name == r.Name }) {
			wanted = append(wanted, r)
		}
	}
	for _, n := range nodes {
		if n.Spec.PodCIDR == "" && !slices.ContainsFunc(have, func(r nsx.SubnetRequest) bool { return r.Name == n.Name }) {
			wanted = append(wanted, nsx.SubnetRequest{Name: n.Name, IPFamily: subnetFamily, PrefixLength: subnetPrefix})
		}
	}
	return wanted
}

func (s *podSubnets) reconcileVPC(ctx context.Context, nodes []*corev1.Node) error {
	if doubt := s.allocations.Current(); doubt != nil {
		return nil //nolint:nilerr // the store logs it, and wakes this controller when it is current
	}
	owner, err := readOwner(s.opts.OwnerReferenceFile)
	if err != nil {
		return err
	}
	have := map[string]*nsx.IPAddressAllocation{}
	s.allocations.Each(func(a *nsx.IPAddressAllocation) bool {
		if slices.ContainsFunc(a.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == owner.UID }) {
			have[a.Name] = a
		}
		return true
	})
	var failed error
	for _, n := range nodes {
		a := have[n.Name]
		delete(have, n.Name)
		switch {
		case a == nil && n.Spec.PodCIDR == "":
			failed = errors.Join(failed, s.allocate(ctx, n.Name, owner))
		case a != nil:
			if ready, why := a.Status.Ready(); ready && a.Status.AllocationIPs != "" {
				failed = errors.Join(failed, s.assign(ctx, n, a.Status.AllocationIPs))
			} else if n.Spec.PodCIDR == "" && strings.HasPrefix(why, "Ready is False") {
				s.events.Report(n, podSubnetConcern, nodeevent.Event{
					Type: corev1.EventTypeWarning, Reason: ReasonPodSubnet, Message: fmt.Sprintf("IPAddressAllocation %s/%s: %s", s.namespace, n.Name, why),
				})
			}
		}
	}
	if len(nodes) == 0 {
		return failed
	}
	for name, a := range have { // of Nodes that do not exist
		err := ignoreNotFound(s.connection.Delete(ctx, nsx.IPAddressAllocations(), s.namespace, name, string(a.UID)))
		failed = errors.Join(failed, err)
	}
	return failed
}

func (s *podSubnets) allocate(ctx context.Context, name string, owner metav1.OwnerReference) error {
	a := &nsx.IPAddressAllocation{
		TypeMeta:   typeMeta(nsx.GroupVPC, "IPAddressAllocation"),
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace, OwnerReferences: []metav1.OwnerReference{owner}},
	}
	a.Spec.Visibility, a.Spec.Size = "Private", subnetSize
	if s.opts.PodIPPoolType == PublicPool {
		a.Spec.Visibility = "External"
	}
	return wrapUnlessConflict(s.connection.Create(ctx, nsx.IPAddressAllocations(), s.namespace, a, nil), "create IPAddressAllocation "+s.namespace+"/"+name)
}

// wrapUnlessConflict drops an error about a change that another one overtook: its event wakes the controller again.
func wrapUnlessConflict(err error, what string) error {
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// assign sets a Node's Pod subnet. Kubernetes never changes one that a Node has.
func (s *podSubnets) assign(ctx context.Context, n *corev1.Node, cidr string) error {
	switch n.Spec.PodCIDR {
	case cidr:
		s.events.Resolve(n, "the Pod subnet is "+cidr, podSubnetConcern)
		return nil
	case "":
	default:
		s.events.Report(n, podSubnetConcern, nodeevent.Event{
			Type: corev1.EventTypeWarning, Reason: ReasonPodSubnet,
			Message: fmt.Sprintf("NSX allocates %s, but the node has %s, and Kubernetes does not change it: delete the node and restart its kubelet, which registers it again", cidr, n.Spec.PodCIDR),
		})
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": n.UID},
		"spec":     map[string]any{"podCIDR": cidr, "podCIDRs": []string{cidr}},
	})
	if err != nil {
		return err
	}
	_, err = s.client.CoreV1().Nodes().Patch(ctx, n.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("node %q: pod subnet %s: %w", n.Name, cidr, err)
	}
	return nil
}
