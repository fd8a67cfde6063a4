package route

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
)

// Scopes of tags. The first two are upstream's (pkg/cloudprovider/vsphere/route/config).
const (
	scopeCluster = "vsphere.k8s.io/cluster-name"
	scopeNode    = "vsphere.k8s.io/node-name"
	scopeUID     = "vsphere.k8s.io/cluster-uid"
)

// Fields of static routes.
const (
	fieldNetwork = "network"
	fieldHops    = "next_hops"
	fieldAddress = "ip_address"
)

const (
	// maxAge is how old the last reading may be when routes are listed, which the route controller does every ten seconds.
	maxAge = time.Minute
	// realizeWait is how long CreateRoute waits for the realization, as upstream's provider does.
	realizeWait = 10 * time.Second
	// maxName is how long a display name may be.
	maxName = 255
)

// Config configures [New]. All fields but Logger are required.
type Config struct {
	Client *nsx.Client
	// RouterPath is the tier-1 gateway: /infra/tier-1s/NAME.
	RouterPath string
	// ClusterUID returns what identifies the cluster for ever.
	ClusterUID func(context.Context) (string, error)
	// Nodes returns all Nodes, Node the one with a name.
	Nodes func(context.Context) ([]corev1.Node, error)
	Node  func(ctx context.Context, name string) (*corev1.Node, error)
	// Logger is discarded when nil.
	Logger *slog.Logger
}

// Routes implements [cloudprovider.Routes]. Create it with [New]. All methods are safe for concurrent use.
type Routes struct {
	cfg Config
	log *slog.Logger

	mu    sync.Mutex
	known map[string]nsx.Object // the routes of the gateway, by path
	at    time.Time             // of the last reading; zero for none, or after a doubt
	left  map[string]bool       // paths of routes that were reported as left alone
}

var _ cloudprovider.Routes = (*Routes)(nil)

// New returns the routes of a gateway. It makes no calls.
func New(cfg Config) *Routes {
	return &Routes{cfg: cfg, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)), left: map[string]bool{}}
}

// ListRoutes implements [cloudprovider.Routes]: the routes that are certainly those of this cluster, sorted by name.
func (r *Routes) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	uid, err := r.cfg.ClusterUID(ctx)
	if err != nil {
		return nil, err
	}
	all, fresh, err := r.read(ctx, maxAge)
	if err != nil {
		return nil, explained(err)
	}
	mine := slices.DeleteFunc(slices.Clone(all), func(o nsx.Object) bool { return !ours(o, cluster, uid) })
	if fresh {
		r.reportLeft(all, cluster)
		r.correct(ctx, mine)
	}
	routes := []*cloudprovider.Route{}
	for _, o := range mine {
		routes = append(routes, &cloudprovider.Route{
			Name: o.ID(), TargetNode: types.NodeName(o.Tag(scopeNode)), DestinationCIDR: o.Text(fieldNetwork),
		})
	}
	return routes, nil
}

// CreateRoute implements [cloudprovider.Routes]. It returns when NSX has realized the route. Making a route again finds the first
// one, and gives it the fields that it should have.
func (r *Routes) CreateRoute(ctx context.Context, cluster, nameHint string, route *cloudprovider.Route) (err error) {
	defer func() {
		if err != nil {
			r.doubt()
			err = explained(err)
		}
	}()
	hop, err := r.nextHop(ctx, route)
	if err != nil {
		return err
	}
	uid, err := r.cfg.ClusterUID(ctx)
	if err != nil {
		return err
	}
	all, _, err := r.read(ctx, maxAge)
	if err != nil {
		return err
	}
	id := strings.ReplaceAll(nameHint+"_"+route.DestinationCIDR, "/", "_")
	path := r.collection() + "/" + id
	for _, o := range all {
		if o.Path() != path && !ours(o, cluster, uid) && sameNetwork(o.Text(fieldNetwork), route.DestinationCIDR) {
			return &takenError{network: route.DestinationCIDR, path: o.Path(), cluster: o.Tag(scopeCluster)}
		}
	}
	name := cluster + "_" + string(route.TargetNode) + "_" + route.DestinationCIDR
	wanted := nsx.Object{
		nsx.FieldName: name[:min(len(name), maxName)], fieldNetwork: route.DestinationCIDR,
		fieldHops: []nsx.Object{{fieldAddress: hop}},
		nsx.FieldTags: []nsx.Tag{
			{Scope: scopeCluster, Tag: cluster}, {Scope: scopeNode, Tag: string(route.TargetNode)}, {Scope: scopeUID, Tag: uid},
		},
	}
	made, existed, err := r.cfg.Client.Create(ctx, path, wanted)
	if err != nil {
		return err
	}
	if existed {
		// The identifier begins with the UID of the node: it is the route of this node, unless another cluster's name is on it.
		if other := made.Tag(scopeUID); other != "" && other != uid {
			return &takenError{network: route.DestinationCIDR, path: path, cluster: made.Tag(scopeCluster)}
		}
		if made, err = r.cfg.Client.Update(ctx, made, func(o nsx.Object) bool { return adjust(o, wanted, hop) }); err != nil {
			return err
		}
	}
	r.remember(path, made)
	return r.realized(ctx, path)
}

// DeleteRoute implements [cloudprovider.Routes]. It refuses to delete a route that is not certainly the cluster's. A route that does
// not exist is no error.
func (r *Routes) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) (err error) {
	defer func() {
		if err != nil {
			r.doubt()
			err = explained(err)
		}
	}()
	uid, err := r.cfg.ClusterUID(ctx)
	if err != nil {
		return err
	}
	path := r.collection() + "/" + route.Name
	o, err := r.cfg.Client.Get(ctx, path)
	switch {
	case nsx.NotFound(err):
		r.remember(path, nil)
		return nil
	case err != nil:
		return err
	case !ours(o, cluster, uid):
		return fmt.Errorf("%s is not certainly a route of this cluster, and is left alone", path)
	}
	if err := r.cfg.Client.Delete(ctx, path); err != nil {
		return err
	}
	r.remember(path, nil)
	return nil
}

func (r *Routes) collection() string { return r.cfg.RouterPath + "/static-routes" }

// ours reports whether a route is certainly the cluster's.
func ours(o nsx.Object, cluster, uid string) bool {
	return uid != "" && o.Tagged(nsx.Tag{Scope: scopeCluster, Tag: cluster}, nsx.Tag{Scope: scopeUID, Tag: uid})
}

// adjust sets the fields of a route that are not as wanted, and reports whether there were any. Tags and next hops that others have
// added stay.
func adjust(o, wanted nsx.Object, hop string) (changed bool) {
	for _, field := range []string{nsx.FieldName, fieldNetwork} {
		if o.Text(field) != wanted.Text(field) {
			o[field], changed = wanted[field], true
		}
	}
	if !o.Tagged(wanted.Tags()...) {
		tags := wanted.Tags()
		for _, t := range o.Tags() {
			if wanted.Tag(t.Scope) == "" {
				tags = append(tags, t)
			}
		}
		o[nsx.FieldTags], changed = tags, true
	}
	return direct(o, hop) || changed
}

// direct makes a route go to a next hop, unless it does already.
func direct(o nsx.Object, hop string) (changed bool) {
	if slices.ContainsFunc(o.Objects(fieldHops), func(h nsx.Object) bool { return sameAddress(h.Text(fieldAddress), hop) }) {
		return false
	}
	o[fieldHops] = []nsx.Object{{fieldAddress: hop}}
	return true
}

// read returns the routes of the gateway, sorted by path: from memory if the last reading is at most age old, else fresh.
func (r *Routes) read(ctx context.Context, age time.Duration) (all []nsx.Object, fresh bool, err error) {
	r.mu.Lock()
	if !r.at.IsZero() && time.Since(r.at) <= age {
		defer r.mu.Unlock()
		return r.sorted(), false, nil
	}
	r.mu.Unlock()
	began := time.Now()
	list, err := r.cfg.Client.List(ctx, r.collection())
	if err != nil {
		return nil, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = map[string]nsx.Object{}
	for _, o := range list {
		r.known[o.Path()] = o
	}
	r.at = began
	return r.sorted(), true, nil
}

// sorted returns what is known. The caller holds the lock.
func (r *Routes) sorted() []nsx.Object {
	return slices.SortedFunc(maps.Values(r.known), func(a, b nsx.Object) int { return strings.Compare(a.Path(), b.Path()) })
}

// remember records a route that was written, or with nil deleted.
func (r *Routes) remember(path string, o nsx.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o == nil {
		delete(r.known, path)
	} else if r.known != nil {
		r.known[path] = o
	}
}

// doubt makes the next operation read.
func (r *Routes) doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = time.Time{}
}

// realized waits until NSX has realized a route.
func (r *Routes) realized(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, realizeWait, &notRealizedError{path: path})
	defer cancel()
	pause := backoff.Backoff{Min: 50 * time.Millisecond, Max: time.Second}
	for attempt := 1; ; attempt++ {
		state, err := r.cfg.Client.Realization(ctx, path)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case state.State == nsx.Realized:
			return nil
		case state.State == nsx.Failed:
			return &notRealizedError{path: path, problem: cmp.Or(state.Problem, "NSX reports no reason")}
		}
		if backoff.Sleep(ctx, pause.After(attempt)) != nil {
			return context.Cause(ctx)
		}
	}
}

// reportLeft logs, once each, the routes that have the cluster's name and may be another cluster's.
func (r *Routes) reportLeft(all []nsx.Object, cluster string) {
	var paths []string
	r.mu.Lock()
	for _, o := range all {
		if o.Tag(scopeCluster) == cluster && o.Tag(scopeUID) == "" && !r.left[o.Path()] {
			r.left[o.Path()] = true
			paths = append(paths, o.Path())
		}
	}
	r.mu.Unlock()
	if len(paths) > 0 {
		r.log.Warn("routes with the name of this cluster do not say which cluster made them: those of its nodes are adopted, others left alone", "cluster", cluster, "paths", paths)
	}
}

// correct gives routes the next hop of their nodes where it has changed. What fails is logged, and tried again after the next
// reading.
func (r *Routes) correct(ctx context.Context, mine []nsx.Object) {
	if len(mine) == 0 {
		return
	}
	list, err := r.cfg.Nodes(ctx)
	if err != nil {
		r.log.Warn("next hops of routes are not checked", "err", err)
		return
	}
	addresses := map[string][]corev1.NodeAddress{}
	for i := range list {
		addresses[list[i].Name] = list[i].Status.Addresses
	}
	for _, o := range mine {
		network, err := netip.ParsePrefix(o.Text(fieldNetwork))
		if err != nil {
			continue
		}
		hop := hopOf(addresses[o.Tag(scopeNode)], network)
		if hop == "" || !direct(o.Clone(), hop) {
			continue
		}
		stored, err := r.cfg.Client.Update(ctx, o, func(o nsx.Object) bool { return direct(o, hop) })
		if err != nil {
			r.doubt()
			r.log.Warn("next hop of a route is not corrected", "path", o.Path(), "next_hop", hop, "err", err)
			continue
		}
		r.remember(o.Path(), stored)
		r.log.Info("next hop of a route is corrected", "path", o.Path(), "next_hop", hop)
	}
}

// nextHop returns the address of the node of a route, in the family of its network.
func (r *Routes) nextHop(ctx context.Context, route *cloudprovider.Route) (string, error) {
	network, err := netip.ParsePrefix(route.DestinationCIDR)
	if err != nil {
		return "", fmt.Errorf("pod CIDR of node %s: %w", route.TargetNode, err)
	}
	addresses := route.TargetNodeAddresses
	if len(addresses) == 0 {
		node, err := r.cfg.Node(ctx, string(route.TargetNode))
		if err != nil {
			return "", fmt.Errorf("addresses of node %s: %w", route.TargetNode, err)
		}
		addresses = node.Status.Addresses
	}
	if hop := hopOf(addresses, network); hop != "" {
		return hop, nil
	}
	family := map[bool]string{true: "IPv4", false: "IPv6"}[network.Addr().Is4()]
	return "", fmt.Errorf("node %s has neither an InternalIP nor an ExternalIP of %s, the family of its pod CIDR %s", route.TargetNode, family, network)
}

// hopOf returns the first internal address in the family of a network, else the first external one, "" for none.
func hopOf(addresses []corev1.NodeAddress, network netip.Prefix) string {
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
		for _, a := range addresses {
			addr, err := netip.ParseAddr(a.Address)
			if a.Type == kind && err == nil && addr.Unmap().Is4() == network.Addr().Is4() {
				return addr.Unmap().String()
			}
		}
	}
	return ""
}

func sameAddress(a, b string) bool {
	x, err := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	return err == nil && err2 == nil && x.Unmap() == y.Unmap()
}

func sameNetwork(a, b string) bool {
	x, err := netip.ParsePrefix(a)
	y, err2 := netip.ParsePrefix(b)
	return err == nil && err2 == nil && x.Masked() == y.Masked()
}
