package loadbalancer

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
)

// found are the objects of one load balancer.
type found struct {
	servers, pools, monitors, allocations []nsx.Object
	// foreign have the tags of the load balancer, but may be those of another cluster.
	foreign []nsx.Object
}

// empty reports whether none exist.
func (f found) empty() bool {
	return len(f.servers)+len(f.pools)+len(f.monitors)+len(f.allocations) == 0
}

// address returns the address of the virtual servers, "" without any.
func (f found) address() string {
	for _, s := range f.servers {
		if a := s.Text(fieldAddress); a != "" {
			return a
		}
	}
	return ""
}

// of returns the object of a port, nil for none.
func (f found) of(all []nsx.Object, port string) nsx.Object {
	for _, o := range all {
		if o.Tag(scopePort) == port {
			return o
		}
	}
	return nil
}

// allocation returns the allocation in an IP pool, nil for none.
func (f found) allocation(pool string) nsx.Object {
	for _, o := range f.allocations {
		if poolOf(o.Path()) == pool {
			return o
		}
	}
	return nil
}

// add adds an object to those of its kind.
func (f *found) add(o nsx.Object) {
	switch path.Dir(o.Path()) {
	case servers:
		f.servers = append(f.servers, o)
	case pools:
		f.pools = append(f.pools, o)
	case monitors:
		f.monitors = append(f.monitors, o)
	default:
		if poolOf(o.Path()) != "" {
			f.allocations = append(f.allocations, o)
		}
	}
}

// find returns the objects of a Service's load balancer that are certainly those of this cluster.
func (b *Balancer) find(ctx context.Context, cluster string, s *corev1.Service) (found, error) {
	uid, err := b.cfg.ClusterUID(ctx)
	if err != nil {
		return found{}, err
	}
	if err := b.view.refresh(ctx, maxAge); err != nil {
		return found{}, err
	}
	tags := []nsx.Tag{b.owner(), {Scope: scopeCluster, Tag: cluster}, {Scope: scopeService, Tag: keyOf(s)}}
	var f found
	var candidates []nsx.Object
	for _, o := range b.view.all(func(o nsx.Object) bool { return o.Tagged(tags...) }) {
		switch originOf(uid, o.ID()) {
		case ours:
			f.add(o)
		case unsaid:
			candidates = append(candidates, o)
		case theirs:
			f.foreign = append(f.foreign, o)
		}
	}
	if len(candidates) > 0 {
		if err := b.adopt(ctx, &f, candidates, s); err != nil {
			return found{}, err
		}
	}
	return f, nil
}

// adopt sorts objects that another provider may have made: those of the address that the Service has, and what these name, are
// those of this cluster.
func (b *Balancer) adopt(ctx context.Context, f *found, candidates []nsx.Object, s *corev1.Service) error {
	known := map[string]bool{} // addresses, and paths
	for _, i := range s.Status.LoadBalancer.Ingress {
		known[i.IP] = i.IP != ""
	}
	inPool := map[string]bool{}
	is := func(o nsx.Object) (bool, error) {
		switch path.Dir(o.Path()) {
		case servers:
			if !known[o.Text(fieldAddress)] {
				return false, nil
			}
			known[o.Text(fieldPool)], inPool[o.Tag(scopePool)] = true, true
			return true, nil
		case pools:
			for _, monitor := range o.Texts(fieldMonitors) {
				known[monitor] = known[monitor] || known[o.Path()]
			}
			return known[o.Path()], nil
		case monitors:
			return known[o.Path()], nil
		}
		if !inPool[poolOf(o.Path())] {
			return false, nil
		}
		r, err := b.cfg.Client.Realization(ctx, o.Path())
		return err == nil && known[r.Attributes["allocation_ip"]], err
	}
	// What names others comes first.
	order := []string{servers, pools, monitors}
	slices.SortStableFunc(candidates, func(a, b nsx.Object) int {
		rank := func(o nsx.Object) int {
			if i := slices.Index(order, path.Dir(o.Path())); i >= 0 {
				return i
			}
			return len(order)
		}
		return rank(a) - rank(b)
	})
	for _, o := range candidates {
		mine, err := is(o)
		if err != nil {
			return err
		}
		if mine {
			f.add(o)
		} else {
			f.foreign = append(f.foreign, o)
		}
	}
	return nil
}

// noteForeign reports objects that have the tags of a Service's load balancer and are left alone.
func (b *Balancer) noteForeign(s *corev1.Service, f found) {
	if len(f.foreign) == 0 {
		return
	}
	var paths []string
	for _, o := range f.foreign {
		paths = append(paths, o.Path())
	}
	if !b.left.isNew(keyOf(s), paths) {
		return
	}
	b.log.Warn("objects with the tags of a Service are not certainly those of this cluster, and are left alone", "service", keyOf(s), "paths", paths)
	b.warn(s, ReasonForeignObjects, fmt.Sprintf(
		"NSX has %d objects with the tags of this Service that another cluster of the same name may have made, and leaves them alone: give each cluster its own --cluster-name, or delete them (%s)",
		len(paths), strings.Join(paths[:min(3, len(paths))], ", ")))
}

// unwanted returns what the Service no longer wants, or has twice.
func (e *ensuring) unwanted(ctx context.Context, address string) (found, error) {
	kept := map[string]bool{}
	rest := func(all []nsx.Object, wanted func(corev1.ServicePort) bool) (not []nsx.Object) {
		for _, o := range all {
			port := o.Tag(scopePort)
			key := path.Dir(o.Path()) + port
			if kept[key] || !slices.ContainsFunc(e.service.Spec.Ports, func(p corev1.ServicePort) bool { return portOf(p) == port && wanted(p) }) {
				not = append(not, o)
			}
			kept[key] = true
		}
		return not
	}
	every := func(corev1.ServicePort) bool { return true }
	f := found{
		servers: rest(e.have.servers, every), pools: rest(e.have.pools, every),
		monitors: rest(e.have.monitors, func(p corev1.ServicePort) bool { return protocolOf(p) == corev1.ProtocolTCP }),
	}
	var err error
	f.allocations, err = e.spare(ctx, address)
	return f, err
}

// spare returns the allocations that are not of the load balancer's address: an earlier attempt was for another class.
func (e *ensuring) spare(ctx context.Context, address string) ([]nsx.Object, error) {
	if e.allocation == "" && len(e.have.allocations) < 2 {
		return nil, nil
	}
	var spare []nsx.Object
	used := e.allocation
	for _, o := range e.have.allocations {
		if e.allocation == "" {
			r, err := e.cfg.Client.Realization(ctx, o.Path())
			if err != nil {
				return nil, err
			}
			if used == "" && r.Attributes["allocation_ip"] == address {
				used = o.Path()
			}
		}
		if o.Path() != used {
			spare = append(spare, o)
		}
	}
	if used == "" {
		return nil, nil // none is certainly spare
	}
	return spare, nil
}
