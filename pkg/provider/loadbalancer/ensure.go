package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
)

// Fields of objects.
const (
	fieldMembers  = "members"
	fieldMonitors = "active_monitor_paths"
	fieldAddress  = "ip_address"
	fieldPorts    = "ports"
	fieldNodePort = "default_pool_member_ports"
	fieldPool     = "pool_path"
	fieldProfile  = "application_profile_path"
	fieldService  = "lb_service_path"
	fieldGateway  = "connectivity_path"
	fieldMonPort  = "monitor_port"
	fieldCreated  = "_create_time"
)

// ensuring is one run of [Balancer.EnsureLoadBalancer].
type ensuring struct {
	*Balancer
	cluster string
	service *corev1.Service
	nodes   []*corev1.Node

	have  found
	class class
	// allocation is the path of the allocation that gave the address; "" if the virtual servers did.
	allocation string
}

// run makes what the Service wants, and deletes what it no longer wants. It returns the address.
func (e *ensuring) run(ctx context.Context) (string, error) {
	if err := checkPorts(e.service); err != nil {
		return "", err
	}
	var err error
	if e.have, err = e.find(ctx, e.cluster, e.service); err != nil {
		return "", err
	}
	e.noteForeign(e.service, e.have)
	if err := e.classify(); err != nil {
		return "", err
	}
	ports := e.service.Spec.Ports
	// What the configuration names exists, before anything is made.
	if _, err := e.poolID(ctx, e.class); err != nil {
		return "", err
	}
	for _, p := range ports {
		if _, err := e.profilePath(ctx, e.class, protocolOf(p)); err != nil {
			return "", err
		}
	}
	var (
		address, balancer string
		poolPaths         = make([]string, len(ports))
		made              = make([]string, len(ports))
	)
	first := []func(context.Context) error{func(ctx context.Context) (err error) {
		address, err = e.address(ctx)
		return err
	}}
	for i, p := range ports {
		first = append(first, func(ctx context.Context) (err error) {
			poolPaths[i], err = e.pool(ctx, p)
			return err
		})
	}
	// No one is canceled in the middle of a call: what it made would have to be read again.
	e.attached.RLock()
	defer e.attached.RUnlock()
	first = append(first, func(ctx context.Context) (err error) {
		balancer, err = e.lbService(ctx, e.cluster)
		return err
	})
	if err := together(ctx, first...); err != nil {
		return "", err
	}
	var second []func(context.Context) error
	for i, p := range ports {
		second = append(second, func(ctx context.Context) (err error) {
			made[i], err = e.server(ctx, p, address, balancer, poolPaths[i])
			return err
		})
	}
	if err := together(ctx, second...); err != nil {
		return "", err
	}
	unwanted, err := e.unwanted(ctx, address)
	if err != nil {
		return "", err
	}
	if err := e.deleteAll(ctx, unwanted); err != nil {
		return "", err
	}
	if fresh := slices.DeleteFunc(made, func(path string) bool { return path == "" }); len(fresh) > 0 {
		e.check(e.service, balancer, fresh)
	}
	return address, nil
}

// checkPorts refuses what NSX cannot do, before anything is made.
func checkPorts(s *corev1.Service) error {
	for _, p := range s.Spec.Ports {
		switch protocol := protocolOf(p); {
		case protocol != corev1.ProtocolTCP && protocol != corev1.ProtocolUDP:
			return &serviceError{fmt.Sprintf("port %d has the protocol %s: load balancers of NSX have TCP and UDP; remove the port from this Service", p.Port, protocol)}
		case p.NodePort == 0:
			return &serviceError{fmt.Sprintf("port %d has no node port, which the load balancer sends to: set allocateLoadBalancerNodePorts to true", p.Port)}
		}
	}
	return nil
}

// classify sets the class. A load balancer that exists keeps its class: its address is of that class's IP pool.
func (e *ensuring) classify() error {
	name := wanted(e.service)
	c, known := e.classNamed(name)
	if len(e.have.servers) == 0 {
		if !known {
			return &serviceError{fmt.Sprintf("the annotation %s is %q, and the configuration has no such class: it has %s; correct the annotation, or add the class to loadBalancerClass",
				ClassAnnotation, name, strings.Join(e.classNames(), ", "))}
		}
		e.class = c
		return nil
	}
	has, pool := e.have.servers[0].Tag(scopeClass), e.have.servers[0].Tag(scopePool)
	old, configured := e.classNamed(has)
	if !configured {
		if old = c; !known {
			old, _ = e.classNamed(config.DefaultClass)
		}
	}
	// As it was made: the class may have another pool by now.
	old.name, old.IPPoolID, old.IPPoolName = has, pool, ""
	e.class = old
	if has != name && !known {
		e.warn(e.service, ReasonClassKept, fmt.Sprintf(
			"the load balancer stays in the class %s: the annotation %s is %q, and the configuration has no such class", has, ClassAnnotation, name))
	} else if has != name {
		e.warn(e.service, ReasonClassKept, fmt.Sprintf(
			"the load balancer stays in the class %s, because its address is of that class: to have it in the class %s, delete the Service and create it again", has, name))
	}
	return nil
}

// object makes an object below a collection, unless there is one that was made by an earlier attempt. The identifier follows from
// parts.
func (b *Balancer) object(ctx context.Context, collection string, o nsx.Object, parts ...string) (nsx.Object, error) {
	uid, err := b.cfg.ClusterUID(ctx)
	if err != nil {
		return nil, err
	}
	for attempt := range maxAttempts {
		id := identifier(uid, append(slices.Clone(parts), collection, strconv.Itoa(attempt))...)
		at := collection + "/" + id
		if !b.view.free(at) {
			continue
		}
		made, existed, err := b.cfg.Client.Create(ctx, at, o)
		switch {
		case nsx.Purging(err):
			b.view.refused(at)
			continue
		case err != nil:
			b.view.doubt()
			return nil, err
		case existed:
			b.log.Info("found an object that an earlier attempt has made", "path", at)
		default:
			b.log.Info("made an object in NSX", "path", at, "name", made.Text(nsx.FieldName))
		}
		b.view.put(made)
		return made, nil
	}
	return nil, fmt.Errorf("%s: NSX does not take the paths of objects that were deleted a short time ago; it does in some minutes", collection)
}

// maxAttempts is how many identifiers one object may have, one after the other.
const maxAttempts = 64

// update changes an object, if change returns true.
func (b *Balancer) update(ctx context.Context, o nsx.Object, change func(nsx.Object) bool) (nsx.Object, error) {
	changed := false
	stored, err := b.cfg.Client.Update(ctx, o, func(o nsx.Object) bool {
		if !change(o) {
			return false
		}
		changed = true
		return true
	})
	if err != nil {
		b.view.doubt()
		return nil, err
	}
	if changed {
		b.log.Info("changed an object in NSX", "path", o.Path(), "name", o.Text(nsx.FieldName))
		b.view.put(stored)
	}
	return stored, nil
}

// description returns the text of an object.
func (e *ensuring) description(what string) string {
	return fmt.Sprintf("%s for cluster %s, service %s created by %s", what, e.cluster, keyOf(e.service), AppName)
}

// name returns the display name of an object.
func (e *ensuring) name() string { return Name(e.cluster, e.service) }

// uid is the part of an identifier that is the Service's.
func (e *ensuring) uid() string { return keyOf(e.service) + "\x00" + string(e.service.UID) }

// monitor returns the path of the monitor of a port, "" for UDP.
func (e *ensuring) monitor(ctx context.Context, p corev1.ServicePort) (string, error) {
	if protocolOf(p) != corev1.ProtocolTCP {
		return "", nil
	}
	o := e.have.of(e.have.monitors, portOf(p))
	if o == nil {
		var err error
		o, err = e.object(ctx, monitors, nsx.Object{
			nsx.FieldType: "LBTcpMonitorProfile",
			"description": fmt.Sprintf("tcp monitor for cluster %s, service %s, port %d created by %s", e.cluster, keyOf(e.service), p.NodePort, AppName),
			nsx.FieldName: fmt.Sprintf("%s:%d", e.name(), p.NodePort),
			nsx.FieldTags: e.tags(e.cluster, scopeService, keyOf(e.service), scopePort, portOf(p)),
			fieldMonPort:  p.NodePort,
		}, e.uid(), portOf(p))
		if err != nil {
			return "", err
		}
	}
	o, err := e.update(ctx, o, func(o nsx.Object) bool {
		if o.Number(fieldMonPort) == int64(p.NodePort) {
			return false
		}
		o[fieldMonPort] = p.NodePort
		return true
	})
	return o.Path(), err
}

// pool returns the path of the pool of a port.
func (e *ensuring) pool(ctx context.Context, p corev1.ServicePort) (string, error) {
	monitor, err := e.monitor(ctx, p)
	if err != nil {
		return "", err
	}
	var active []string
	if monitor != "" {
		active = []string{monitor}
	}
	o := e.have.of(e.have.pools, portOf(p))
	if o == nil {
		snat := "LBSnatAutoMap"
		if e.cfg.Settings.SNATDisabled {
			snat = "LBSnatDisabled"
		}
		o = nsx.Object{
			"description":      e.description("pool"),
			nsx.FieldName:      e.name(),
			nsx.FieldTags:      e.tags(e.cluster, scopeService, keyOf(e.service), scopePort, portOf(p)),
			"snat_translation": nsx.Object{"type": snat},
		}
		if active != nil {
			o[fieldMonitors] = active
		}
		setMembers(o, e.cluster, e.nodes)
		if o, err = e.object(ctx, pools, o, e.uid(), portOf(p)); err != nil {
			return "", err
		}
	}
	o, err = e.update(ctx, o, func(o nsx.Object) bool {
		changed := setMembers(o, e.cluster, e.nodes)
		if !slices.Equal(o.Texts(fieldMonitors), active) {
			o[fieldMonitors] = active
			changed = true
		}
		return changed
	})
	return o.Path(), err
}

// setMembers makes the nodes the members of a pool: those that are members already stay as they are. It reports whether that
// changes the pool.
func setMembers(pool nsx.Object, cluster string, nodes []*corev1.Node) bool {
	names := map[string]string{}
	var wanted []string
	for _, n := range nodes {
		if ip := internalIP(n); ip != "" && names[ip] == "" {
			names[ip] = n.Name
			wanted = append(wanted, ip)
		}
	}
	slices.Sort(wanted)
	members := []nsx.Object{}
	had := pool.Objects(fieldMembers)
	for _, m := range had {
		if ip := m.Text(fieldAddress); names[ip] != "" {
			members = append(members, m)
			delete(names, ip)
		}
	}
	changed := len(members) != len(had) || len(names) > 0
	for _, ip := range wanted {
		if name := names[ip]; name != "" {
			members = append(members, nsx.Object{"admin_state": "ENABLED", nsx.FieldName: cluster + ":" + name, fieldAddress: ip})
		}
	}
	if changed || pool[fieldMembers] == nil {
		pool[fieldMembers] = members
	}
	return changed
}

// internalIP returns the first internal address of a node.
func internalIP(n *corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

// server makes or changes the virtual server of a port. It returns the path of one that it has made.
func (e *ensuring) server(ctx context.Context, p corev1.ServicePort, address, balancer, pool string) (made string, err error) {
	profile, err := e.profilePath(ctx, e.class, protocolOf(p))
	if err != nil {
		return "", err
	}
	nodePort, port := strconv.Itoa(int(p.NodePort)), strconv.Itoa(int(p.Port))
	o := e.have.of(e.have.servers, portOf(p))
	if o == nil {
		poolID, err := e.poolID(ctx, e.class)
		if err != nil {
			return "", err
		}
		o, err = e.object(ctx, servers, nsx.Object{
			"description": e.description("virtual server"),
			nsx.FieldName: e.name(),
			nsx.FieldTags: e.tags(e.cluster, scopeService, keyOf(e.service), scopePort, portOf(p), scopePool, poolID, scopeClass, e.class.name),
			"enabled":     true,
			fieldNodePort: []string{nodePort}, fieldAddress: address, fieldProfile: profile, fieldPool: pool,
			fieldPorts: []string{port}, fieldService: balancer,
		}, e.uid(), portOf(p), address)
		if err != nil {
			return "", err
		}
		made = o.Path()
	}
	_, err = e.update(ctx, o, func(o nsx.Object) bool {
		if slices.Equal(o.Texts(fieldNodePort), []string{nodePort}) && o.Text(fieldPool) == pool && o.Text(fieldProfile) == profile {
			return false
		}
		o[fieldNodePort], o[fieldPool], o[fieldProfile] = []string{nodePort}, pool, profile
		return true
	})
	return made, err
}

// realizeWait is how long an allocation may take until it has an address.
const realizeWait = 15 * time.Second

// address returns the address of the load balancer: that of its virtual servers, else that of its allocation, else a new one.
func (e *ensuring) address(ctx context.Context) (string, error) {
	if address := e.have.address(); address != "" {
		return address, nil
	}
	pool, err := e.poolID(ctx, e.class)
	if err != nil {
		return "", err
	}
	o := e.have.allocation(pool)
	if o == nil {
		if o, err = e.object(ctx, allocationsOf(pool), nsx.Object{
			nsx.FieldTags: e.tags(e.cluster, scopeService, keyOf(e.service)),
		}, e.uid()); nsx.NotFound(err) || nsx.BadPath(err) {
			return "", &classError{class: e.class.name, what: "IP pool", err: fmt.Errorf("identifier %q: %w", pool, errNoSuchName)}
		} else if err != nil {
			return "", err
		}
	}
	e.allocation = o.Path()
	address, err := e.allocated(ctx, o.Path())
	if exhausted, ok := errors.AsType[*poolError](err); ok {
		exhausted.class, exhausted.pool = e.class.name, pool
		// A later attempt asks again: nothing of this one stays.
		err = errors.Join(err, e.delete(ctx, o))
	}
	return address, err
}

// allocated waits for the address of an allocation.
func (b *Balancer) allocated(ctx context.Context, at string) (string, error) {
	pause := backoff.Backoff{Min: 10 * time.Millisecond, Max: 500 * time.Millisecond}
	ctx, cancel := context.WithTimeout(ctx, realizeWait)
	defer cancel()
	for attempt := 1; ; attempt++ {
		r, err := b.cfg.Client.Realization(ctx, at)
		switch {
		case err != nil && !nsx.NotFound(err):
			return "", err
		case r.Attributes["allocation_ip"] != "":
			return r.Attributes["allocation_ip"], nil
		case r.State == nsx.Failed:
			return "", &poolError{reason: r.Problem}
		}
		if backoff.Sleep(ctx, pause.After(attempt)) != nil {
			return "", fmt.Errorf("%s: NSX has not allocated an address within %s", at, realizeWait)
		}
	}
}

// lbService returns the path of the load balancer service of the gateway, and makes it if the gateway has none. Its owner may be another
// cluster: a gateway has only one.
func (b *Balancer) lbService(ctx context.Context, cluster string) (string, error) {
	b.making.Lock()
	defer b.making.Unlock()
	gateway, id := b.cfg.Settings.Tier1GatewayPath, b.cfg.Settings.LBServiceID
	if id != "" {
		return b.givenService(ctx, lbServices+"/"+id, gateway)
	}
	if known := b.servicesAt(gateway); len(known) > 0 {
		return known[0].Path(), nil
	}
	uid, err := b.cfg.ClusterUID(ctx)
	if err != nil {
		return "", err
	}
	b.realized.Store(false)
	o, err := b.object(ctx, lbServices, nsx.Object{
		"description": fmt.Sprintf("virtual server pool for cluster %s created by %s", cluster, AppName),
		nsx.FieldName: "cluster:" + cluster,
		nsx.FieldTags: b.tags(cluster),
		"size":        b.cfg.Settings.Size, "enabled": true, fieldGateway: gateway,
	}, uid, gateway)
	if err != nil {
		if nsx.BadPath(err) {
			err = &serviceError{fmt.Sprintf("NSX has no gateway %s: correct tier1GatewayPath in the configuration (%v)", gateway, err)}
		}
		return "", err
	}
	// Another cluster may have made one at the same time: the older one is that of both.
	list, err := b.cfg.Client.List(ctx, lbServices)
	if err != nil {
		return "", err
	}
	for _, other := range list {
		b.view.put(other)
	}
	// Two of the same millisecond may give way to each other: then one attempt fails, and the next finds what is left.
	for _, other := range b.servicesAt(gateway) {
		if other.Path() != o.Path() && other.Number(fieldCreated) <= o.Number(fieldCreated) {
			return other.Path(), b.delete(ctx, o)
		}
	}
	return o.Path(), nil
}

// servicesAt returns the load balancer services of a gateway, the oldest first.
func (b *Balancer) servicesAt(gateway string) []nsx.Object {
	all := b.view.all(func(o nsx.Object) bool {
		return path.Dir(o.Path()) == lbServices && o.Text(fieldGateway) == gateway
	})
	slices.SortStableFunc(all, func(a, b nsx.Object) int { return cmp.Compare(a.Number(fieldCreated), b.Number(fieldCreated)) })
	return all
}

// givenService returns the path of the load balancer service that the configuration names.
func (b *Balancer) givenService(ctx context.Context, at, gateway string) (string, error) {
	known := b.view.all(func(o nsx.Object) bool { return o.Path() == at })
	if len(known) == 0 {
		o, err := b.cfg.Client.Get(ctx, at)
		if nsx.NotFound(err) {
			return "", &serviceError{fmt.Sprintf("NSX has no load balancer service %s: correct lbServiceId in the configuration, or leave it out and the provider makes one", path.Base(at))}
		}
		if err != nil {
			return "", err
		}
		known = []nsx.Object{o}
	}
	if is := known[0].Text(fieldGateway); gateway != "" && is != gateway {
		return "", &serviceError{fmt.Sprintf("the load balancer service %s of lbServiceId is at the gateway %q, not at %s of tier1GatewayPath: correct one of the two", path.Base(at), is, gateway)}
	}
	return at, nil
}
