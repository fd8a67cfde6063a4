package paravirtual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/nsx"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/supervisor"
)

const (
	// labelRouteCluster is the label of a cluster's routes, which is upstream's.
	labelRouteCluster = "clusterName"
	// suffix6 distinguishes the name of a Node's second StaticRoute (upstream since v1.37, kubernetes/cloud-provider-vsphere#1751).
	suffix6 = "-ipv6"
	// realizeTime is how long a new route may take to be realized. The caller tries again after its period.
	realizeTime = 10 * time.Second
)

// routes makes a RouteSet of each Node, or in a VPC a StaticRoute of each of its Pod subnets.
type routes struct{ *Provider }

var _ cloudprovider.Routes = routes{}

// ListRoutes implements [cloudprovider.Routes]. Routes that are not realized are omitted, as in upstream: the caller then calls
// CreateRoute again, which waits for them. Those to an address that their Node has no more are omitted, too: CreateRoute corrects them.
func (r routes) ListRoutes(ctx context.Context, clusterName string) ([]*cloudprovider.Route, error) {
	namespace, err := r.connection.Namespace()
	if err != nil {
		return nil, err
	}
	if r.opts.VPC {
		return r.listStatic(ctx, namespace, clusterName)
	}
	all := []*cloudprovider.Route{}
	_, err = r.connection.List(ctx, nsx.RouteSets(), namespace, labelRouteCluster+"="+clusterName, each(func(s *nsx.RouteSet) {
		if ready, _ := s.Status.Ready(); !ready {
			return
		}
		for _, route := range s.Spec.Routes {
			if r.outdated(s.Name, route.Destination, route.Target) {
				continue
			}
			all = append(all, &cloudprovider.Route{Name: route.Name, TargetNode: types.NodeName(s.Name), DestinationCIDR: route.Destination})
		}
	}))
	return all, err
}

func (r routes) listStatic(ctx context.Context, namespace, clusterName string) ([]*cloudprovider.Route, error) {
	all := []*cloudprovider.Route{}
	_, err := r.connection.List(ctx, nsx.StaticRoutes(), namespace, labelRouteCluster+"="+clusterName, each(func(s *nsx.StaticRoute) {
		if ready, _ := s.Status.Ready(); ready && !r.outdated(nodeOf(s), s.Spec.Network, hopsOf(s)...) {
			all = append(all, &cloudprovider.Route{Name: s.Name, TargetNode: types.NodeName(nodeOf(s)), DestinationCIDR: s.Spec.Network})
		}
	}))
	return all, err
}

func hopsOf(s *nsx.StaticRoute) (all []string) {
	for _, hop := range s.Spec.NextHops {
		all = append(all, hop.IPAddress)
	}
	return all
}

// nodeOf returns the Node of a StaticRoute.
func nodeOf(s *nsx.StaticRoute) string {
	if i := slices.IndexFunc(s.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Node" }); i >= 0 {
		return s.OwnerReferences[i].Name
	}
	if prefix, err := netip.ParsePrefix(s.Spec.Network); err == nil && prefix.Addr().Is6() {
		return strings.TrimSuffix(s.Name, suffix6)
	}
	return s.Name
}

// CreateRoute implements [cloudprovider.Routes]. nameHint is the Node's UID. A route that exists with another next hop is corrected:
// upstream leaves it, and Pods of a Node with a new address stay unreachable.
func (r routes) CreateRoute(ctx context.Context, clusterName, nameHint string, route *cloudprovider.Route) error {
	namespace, err := r.connection.Namespace()
	if err != nil {
		return err
	}
	owner, err := readOwner(r.opts.OwnerReferenceFile)
	if err != nil {
		return err
	}
	hop, err := r.nextHop(route)
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{
		Name: string(route.TargetNode), Namespace: namespace, Labels: map[string]string{labelRouteCluster: clusterName},
		OwnerReferences: []metav1.OwnerReference{owner, {APIVersion: "v1", Kind: "Node", Name: string(route.TargetNode), UID: types.UID(nameHint)}},
	}
	if r.opts.VPC {
		return r.createStatic(ctx, meta, route, hop)
	}
	wanted := nsx.Route{
		Name:        strings.ReplaceAll(meta.Name+"-"+route.DestinationCIDR+"-"+clusterName, "/", "-"),
		Destination: route.DestinationCIDR, Target: hop,
	}
	return r.realize(ctx, nsx.RouteSets(), meta, func() (any, nsx.Status, bool, error) {
		set := &nsx.RouteSet{}
		if err := r.connection.Get(ctx, nsx.RouteSets(), namespace, meta.Name, set); err != nil {
			return nil, nsx.Status{}, false, err
		}
		if err := mine(set.ObjectMeta, clusterName); err != nil {
			return nil, nsx.Status{}, false, err
		}
		i := slices.IndexFunc(set.Spec.Routes, func(o nsx.Route) bool { return o.Destination == wanted.Destination })
		switch {
		case i >= 0 && set.Spec.Routes[i] == wanted:
			return set, set.Status, false, nil
		case i >= 0:
			set.Spec.Routes[i] = wanted
		default:
			set.Spec.Routes = append(set.Spec.Routes, wanted)
		}
		return set, set.Status, true, nil
	}, func() any {
		set := &nsx.RouteSet{TypeMeta: typeMeta(nsx.GroupT1, "RouteSet"), ObjectMeta: meta}
		set.Spec.Routes = []nsx.Route{wanted}
		return set
	})
}

func (r routes) createStatic(ctx context.Context, meta metav1.ObjectMeta, route *cloudprovider.Route, hop string) error {
	if prefix, err := netip.ParsePrefix(route.DestinationCIDR); err == nil && prefix.Addr().Is6() {
		meta.Name += suffix6
	}
	return r.realize(ctx, nsx.StaticRoutes(), meta, func() (any, nsx.Status, bool, error) {
		have := &nsx.StaticRoute{}
		if err := r.connection.Get(ctx, nsx.StaticRoutes(), meta.Namespace, meta.Name, have); err != nil {
			return nil, nsx.Status{}, false, err
		}
		if err := mine(have.ObjectMeta, meta.Labels[labelRouteCluster]); err != nil {
			return nil, nsx.Status{}, false, err
		}
		same := have.Spec.Network == route.DestinationCIDR && slices.Equal(have.Spec.NextHops, []nsx.NextHop{{IPAddress: hop}})
		have.Spec.Network, have.Spec.NextHops = route.DestinationCIDR, []nsx.NextHop{{IPAddress: hop}}
		return have, have.Status, !same, nil
	}, func() any {
		s := &nsx.StaticRoute{TypeMeta: typeMeta(nsx.GroupVPC, "StaticRoute"), ObjectMeta: meta}
		s.Spec.Network, s.Spec.NextHops = route.DestinationCIDR, []nsx.NextHop{{IPAddress: hop}}
		return s
	})
}

func typeMeta(group, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: group + "/" + nsx.Version, Kind: kind}
}

// mine returns an error if an object is another cluster's.
func mine(o metav1.ObjectMeta, clusterName string) error {
	if have := o.Labels[labelRouteCluster]; have != clusterName {
		return fmt.Errorf("%s/%s belongs to cluster %q", o.Namespace, o.Name, have)
	}
	return nil
}

// realize creates the object, or corrects the one that exists, and waits until it is Ready. read returns the object as it should
// be and whether that is a change.
func (r routes) realize(ctx context.Context, resource supervisor.Resource, meta metav1.ObjectMeta,
	read func() (object any, status nsx.Status, changed bool, err error), create func() any,
) error {
	ctx, cancel := context.WithTimeout(ctx, realizeTime)
	defer cancel()
	pause := backoff.Backoff{Min: 100 * time.Millisecond, Max: time.Second}
	why := "it was not created"
	for attempt := 1; ; attempt++ {
		object, status, changed, err := read()
		ready, reason := status.Ready()
		switch {
		case supervisor.IsObjectNotFound(err):
			err = r.connection.Create(ctx, resource, meta.Namespace, create(), nil)
		case err == nil && changed:
			err = r.connection.Update(ctx, resource, meta.Namespace, meta.Name, object, nil)
		case err == nil && ready:
			return nil
		case err == nil:
			why = reason
		}
		if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("%s %s/%s: %w", resource, meta.Namespace, meta.Name, err)
		}
		if backoff.Sleep(ctx, pause.After(attempt)) != nil {
			return fmt.Errorf("%s %s/%s is not realized: %s", resource, meta.Namespace, meta.Name, why)
		}
	}
}

// DeleteRoute implements [cloudprovider.Routes]. Upstream reports success for every error.
func (r routes) DeleteRoute(ctx context.Context, clusterName string, route *cloudprovider.Route) error {
	namespace, err := r.connection.Namespace()
	if err != nil {
		return err
	}
	if r.opts.VPC {
		have := &nsx.StaticRoute{}
		if err := r.connection.Get(ctx, nsx.StaticRoutes(), namespace, route.Name, have); err != nil {
			return ignoreNotFound(err)
		}
		if err := mine(have.ObjectMeta, clusterName); err != nil {
			return err
		}
		return ignoreNotFound(r.connection.Delete(ctx, nsx.StaticRoutes(), namespace, have.Name, string(have.UID)))
	}
	set := &nsx.RouteSet{}
	if err := r.connection.Get(ctx, nsx.RouteSets(), namespace, string(route.TargetNode), set); err != nil {
		return ignoreNotFound(err)
	}
	if err := mine(set.ObjectMeta, clusterName); err != nil {
		return err
	}
	set.Spec.Routes = slices.DeleteFunc(set.Spec.Routes, func(o nsx.Route) bool { return o.Destination == route.DestinationCIDR })
	if len(set.Spec.Routes) > 0 {
		return r.connection.Update(ctx, nsx.RouteSets(), namespace, set.Name, set, nil)
	}
	return ignoreNotFound(r.connection.Delete(ctx, nsx.RouteSets(), namespace, set.Name, string(set.UID)))
}

func ignoreNotFound(err error) error {
	if supervisor.IsObjectNotFound(err) {
		return nil
	}
	return err
}

// outdated reports whether a route to a Pod subnet of a Node must be corrected: the Node has another next hop. A Node without any
// keeps its route.
func (r routes) outdated(name, destination string, hops ...string) bool {
	lister := r.nodes.Load()
	if lister == nil {
		return false
	}
	node, err := (*lister).Get(name)
	if err != nil || !slices.Contains(node.Spec.PodCIDRs, destination) {
		return false // the stock controller deletes it
	}
	hop, err := r.nextHop(&cloudprovider.Route{TargetNode: types.NodeName(name), DestinationCIDR: destination})
	return err == nil && !slices.Equal(hops, []string{hop})
}

// nextHop returns the Node's address of the destination's family, internal addresses first.
func (r routes) nextHop(route *cloudprovider.Route) (string, error) {
	prefix, err := netip.ParsePrefix(route.DestinationCIDR)
	if err != nil {
		return "", fmt.Errorf("route to node %s: %w", route.TargetNode, err)
	}
	addresses := route.TargetNodeAddresses
	if lister := r.nodes.Load(); lister != nil {
		if node, err := (*lister).Get(string(route.TargetNode)); err == nil {
			addresses = node.Status.Addresses
		}
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
		for _, a := range addresses {
			if ip, err := netip.ParseAddr(a.Address); err == nil && a.Type == kind && ip.Unmap().Is4() == prefix.Addr().Is4() {
				return ip.Unmap().String(), nil
			}
		}
	}
	return "", fmt.Errorf("node %s: %w of the family of its Pod subnet %s", route.TargetNode, errNoNodeAddress, prefix)
}

// each decodes the objects of a list.
func each[T any](f func(*T)) func([]byte) error {
	return func(data []byte) error {
		o := new(T)
		if err := json.Unmarshal(data, o); err != nil {
			return err
		}
		f(o)
		return nil
	}
}

var errNoNodeAddress = errors.New("it has no address")
