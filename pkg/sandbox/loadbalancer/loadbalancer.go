// Package loadbalancer gives Services of type LoadBalancer an address that answers, without a load balancer of vSphere: an address of
// this machine's loopback interface, from which connections go to the pods behind the Service.
//
// It follows Services and EndpointSlices, and leaves alone what belongs to others: Services of another class, and those with an
// address that it did not give. Where another load balancer gives loopback addresses, it only listens at them: see
// [Balancer].Follow.
//
// Floor 3.
package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
)

// Balancer serves the Services of a cluster. Set its fields before [Balancer.Start].
type Balancer struct {
	Client func() kubernetes.Interface
	// REST returns a copy of the configuration of Client.
	REST func() *rest.Config
	// Block returns the number of the sandbox's block of loopback addresses, 0 to 255.
	Block func() int
	// Light reports whether a node has no kubelet: its pods take no connections.
	Light func(node string) bool
	// NodePorts: the addresses of Nodes belong to hosts of a network that this machine reaches, and every Node serves the ports of
	// Services. Otherwise connections go to pods through the API server, and a page answers where nothing listens.
	NodePorts bool
	// Follow: the cloud controller manager gives the addresses. The balancer listens at those that are loopback addresses, and
	// writes no status.
	Follow     bool
	Log        *event.Log
	Logger     *slog.Logger
	Background *background.Groups

	services  corelisters.ServiceLister
	slices    discoverylisters.EndpointSliceLister
	nodes     corelisters.NodeLister
	queue     workqueue.TypedRateLimitingInterface[string]
	listen    listenFunc                                        // nil for the network's
	dial      func(context.Context, endpoint) (net.Conn, error) // nil for dialPod
	mu        sync.Mutex
	frontends map[string]*frontend // by the key of the Service
}

const (
	group = "load balancer"
	// callTimeout bounds one call of the API server.
	callTimeout = 10 * time.Second
	// source is the source of Events that the sandbox writes.
	source = "vsphere-sandbox"
	// Reasons of Events on Services.
	reasonAddress = "LoadBalancerAddress"
	reasonPort    = "LoadBalancerPort"
	reasonFailed  = "LoadBalancerFailed"
)

// Start returns when all Services are known. Their addresses follow.
func (b *Balancer) Start(ctx context.Context) error {
	b.frontends = map[string]*frontend{}
	if b.listen == nil {
		b.listen = listenTCP
	}
	if b.dial == nil {
		b.dial = b.dialPod
	}
	b.queue = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 30*time.Second))
	factory := informers.NewSharedInformerFactory(b.Client(), 0)
	services, endpoints := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	b.services, b.slices = services.Lister(), endpoints.Lister()
	synced := []cache.DoneChecker{endpoints.Informer().HasSyncedChecker()}
	if b.NodePorts {
		b.nodes = factory.Core().V1().Nodes().Lister()
		synced = append(synced, factory.Core().V1().Nodes().Informer().HasSyncedChecker())
	}
	enqueue := func(o any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
			b.queue.Add(key)
		}
	}
	registered, err := services.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, o any) { enqueue(o) }, DeleteFunc: enqueue,
	})
	if err != nil {
		return err
	}
	b.Background.Run(group, func(ctx context.Context) {
		factory.Start(ctx.Done())
		<-ctx.Done()
		b.queue.ShutDown()
		factory.Shutdown()
	})
	if !cache.WaitFor(ctx, "", append(synced, registered.HasSyncedChecker())...) {
		return errors.Join(errors.New("the API server does not list Services"), context.Cause(ctx))
	}
	// A Service that has an address from an earlier process keeps it: no other one gets it before.
	b.Background.Run(group, b.work)
	return nil
}

// Stop closes all listeners and connections. The Services keep their addresses.
func (b *Balancer) Stop(ctx context.Context) error {
	err := b.Background.End(ctx, group)
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, f := range b.frontends {
		f.close()
		delete(b.frontends, key)
	}
	return err
}

// work handles Services until the group ends.
func (b *Balancer) work(ctx context.Context) {
	for {
		key, shut := b.queue.Get()
		if shut {
			return
		}
		err := b.reconcile(ctx, key)
		if err == nil || ctx.Err() != nil {
			b.queue.Forget(key)
		} else {
			b.Logger.Error("load balancer", "service", key, "err", err)
			b.queue.AddRateLimited(key)
		}
		b.queue.Done(key)
	}
}

// served reports whether a Service gets its address here or, with Follow, has one where this balancer listens.
func (b *Balancer) served(s *corev1.Service) bool {
	if b.Follow {
		return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.DeletionTimestamp == nil && followed(s).IsValid()
	}
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil && s.DeletionTimestamp == nil &&
		!slices.ContainsFunc(s.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool { return !given(i) })
}

// followed returns the first loopback address of a Service, which another load balancer has given.
func followed(s *corev1.Service) netip.Addr {
	for _, i := range s.Status.LoadBalancer.Ingress {
		if ip, err := netip.ParseAddr(i.IP); err == nil && ip.IsLoopback() {
			return ip
		}
	}
	return netip.Addr{}
}

// given reports whether an address is one that a balancer of a sandbox has given.
func given(i corev1.LoadBalancerIngress) bool {
	ip, err := netip.ParseAddr(i.IP)
	return err == nil && ip.IsLoopback() && i.IPMode != nil && *i.IPMode == corev1.LoadBalancerIPModeProxy
}

// reconcile opens or closes the listeners of a Service and writes its status.
func (b *Balancer) reconcile(ctx context.Context, key string) error {
	namespace, name, _ := strings.Cut(key, "/")
	s, err := b.services.Services(namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err):
		b.release(key)
		return nil
	case err != nil:
		return err
	case !b.served(s):
		b.release(key)
		return b.withdraw(ctx, s)
	}
	f, isNew, err := b.open(key, s)
	if err != nil {
		return errors.Join(err, b.note(ctx, s, corev1.EventTypeWarning, reasonFailed, err.Error()))
	}
	if b.Follow {
		if !isNew {
			return nil
		}
		return b.announce(ctx, key, s, f)
	}
	status := f.status(s)
	if equality.Semantic.DeepEqual(s.Status.LoadBalancer, status) && !isNew {
		return nil
	}
	if err := b.setStatus(ctx, s, status); err != nil {
		return err
	}
	return b.announce(ctx, key, s, f)
}

// announce logs where a Service answers, and writes it to an Event.
func (b *Balancer) announce(ctx context.Context, key string, s *corev1.Service, f *frontend) error {
	text := f.text(s)
	b.Log.Append(event.Event{
		Plane: event.PlaneKubernetes, Kind: "service.address", Object: event.Object{Kind: "Service", Name: key}, Message: text,
	})
	err := b.note(ctx, s, corev1.EventTypeNormal, reasonAddress, text)
	if wish := s.Spec.LoadBalancerIP; !b.Follow && wish != "" && wish != f.addr.String() {
		err = errors.Join(err, b.note(ctx, s, corev1.EventTypeWarning, reasonAddress, fmt.Sprintf(
			"spec.loadBalancerIP %s was not given: the addresses of this sandbox are those of 127.1.%d.0/24 that no other Service has", wish, b.Block())))
	}
	for _, problem := range f.problems(s) {
		err = errors.Join(err, b.note(ctx, s, corev1.EventTypeWarning, reasonPort, problem))
	}
	return err
}

// open returns the frontend of a Service with listeners for its ports.
func (b *Balancer) open(key string, s *corev1.Service) (f *frontend, isNew bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f = b.frontends[key]
	if f != nil && f.uid == s.UID && f.fits(s) && (!b.Follow || f.addr == followed(s)) {
		return f, false, nil
	}
	var first []netip.Addr // what it had, then what it asks for
	if f != nil {
		first = append(first, f.addr)
		f.close()
		delete(b.frontends, key)
	}
	for _, i := range s.Status.LoadBalancer.Ingress {
		if ip, err := netip.ParseAddr(i.IP); err == nil {
			first = append(first, ip)
		}
	}
	if ip, err := netip.ParseAddr(s.Spec.LoadBalancerIP); err == nil {
		first = append(first, ip)
	}
	if b.Follow {
		if f, err = listenAt(followed(s), tcpPorts(s), b.listen, false); err != nil {
			return nil, false, err
		}
		b.started(key, s, f)
		return f, true, nil
	}
	taken := map[netip.Addr]bool{}
	for other, o := range b.frontends {
		if other != key {
			taken[o.addr] = true
		}
	}
	for _, other := range b.reserved(key) {
		taken[other] = true
	}
	f, err = listenFor(s, first, taken, b.Block(), b.listen)
	if err != nil {
		return nil, false, err
	}
	b.started(key, s, f)
	return f, true, nil
}

// started serves a Service with new listeners. The caller holds the lock.
func (b *Balancer) started(key string, s *corev1.Service, f *frontend) {
	f.uid = s.UID
	f.serve(func(ctx context.Context, c client) { b.connect(ctx, key, c) })
	b.frontends[key] = f
}

// reserved lists the addresses that other Services have in their status.
func (b *Balancer) reserved(but string) (all []netip.Addr) {
	list, err := b.services.List(labels.Everything())
	if err != nil {
		return nil
	}
	for _, s := range list {
		if s.Namespace+"/"+s.Name == but {
			continue
		}
		for _, i := range s.Status.LoadBalancer.Ingress {
			if ip, err := netip.ParseAddr(i.IP); err == nil && given(i) && ip != shared {
				all = append(all, ip)
			}
		}
	}
	return all
}

// release closes the listeners of a Service.
func (b *Balancer) release(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.frontends[key]
	if f == nil {
		return
	}
	f.close()
	delete(b.frontends, key)
	b.Log.Append(event.Event{
		Plane: event.PlaneKubernetes, Kind: "service.address-released", Object: event.Object{Kind: "Service", Name: key}, Message: "no longer serves " + f.addr.String(),
	})
}

// withdraw removes the addresses that a balancer gave from a Service that is not served any more.
func (b *Balancer) withdraw(ctx context.Context, s *corev1.Service) error {
	if b.Follow || s.DeletionTimestamp != nil || !slices.ContainsFunc(s.Status.LoadBalancer.Ingress, given) {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(s.Status.LoadBalancer.Ingress), given)
	return b.setStatus(ctx, s, corev1.LoadBalancerStatus{Ingress: kept})
}

func (b *Balancer) setStatus(ctx context.Context, s *corev1.Service, status corev1.LoadBalancerStatus) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s = s.DeepCopy()
	s.Status.LoadBalancer = status
	_, err := b.Client().CoreV1().Services(s.Namespace).UpdateStatus(ctx, s, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the change that made it stale is on its way here
	}
	return err
}

// note writes an Event on a Service. A second one with the same text is not written.
func (b *Balancer) note(ctx context.Context, s *corev1.Service, kind, reason, text string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(string(s.UID) + reason + text)) // never fails
	now := metav1.Now()
	_, err := b.Client().CoreV1().Events(s.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: s.Namespace, Name: fmt.Sprintf("%s.load-balancer.%08x", s.Name, sum.Sum32())},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: s.Namespace, Name: s.Name, UID: s.UID},
		Type:           kind, Reason: reason, Message: text,
		Source: corev1.EventSource{Component: source}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // the namespace is gone, or ends
		return nil
	}
	return err
}

// endpoints lists the ready endpoints of a port of a Service, in a fixed order.
func (b *Balancer) endpoints(s *corev1.Service, port string) []endpoint {
	list, err := b.slices.EndpointSlices(s.Namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: s.Name}))
	if err != nil {
		return nil
	}
	var all []endpoint
	for _, slice := range list {
		for _, p := range slice.Ports {
			if p.Port == nil || *cmp.Or(p.Name, new("")) != port {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready != nil && !*e.Conditions.Ready || len(e.Addresses) == 0 {
					continue
				}
				found := endpoint{namespace: slice.Namespace, address: e.Addresses[0], port: int(*p.Port)}
				if e.NodeName != nil {
					found.node = *e.NodeName
				}
				if r := e.TargetRef; r != nil && r.Kind == "Pod" {
					found.pod = r.Name
				}
				all = append(all, found)
			}
		}
	}
	slices.SortFunc(all, func(a, b endpoint) int { return cmp.Compare(a.address, b.address) })
	return slices.Compact(all)
}

// endpoint is one of those behind a Service.
type endpoint struct {
	namespace, pod string // pod is "" for an address that is none of a pod
	node, address  string
	port           int
}
