package supervisor

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// machineService is the spec of a VirtualMachineService.
type machineService struct {
	Type  corev1.ServiceType `json:"type"`
	Ports []struct {
		Name       string `json:"name"`
		Protocol   string `json:"protocol"`
		Port       int32  `json:"port"`
		TargetPort int32  `json:"targetPort"`
	} `json:"ports"`
	Selector                 map[string]string `json:"selector"`
	LoadBalancerIP           string            `json:"loadBalancerIP"`
	LoadBalancerSourceRanges []string          `json:"loadBalancerSourceRanges"`
	ExternalName             string            `json:"externalName"`
}

// servicesOf queues the VirtualMachineServices of a VirtualMachine's namespace.
func (s *Supervisor) servicesOf(o any) {
	m, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	all, err := s.list(machineServices(), m.GetNamespace(), labels.Everything())
	if err != nil {
		return
	}
	for _, service := range all {
		s.loop(machineServices()).addObject(service)
	}
}

// reconcileServiceAndReport is [Supervisor.reconcileService]; its Endpoints and Events may have changed, which no watch reports.
func (s *Supervisor) reconcileServiceAndReport(ctx context.Context, key string) error {
	defer s.opts.OnChange()
	return s.reconcileService(ctx, key)
}

// reconcileService makes a VirtualMachineService true: a Service with its name that the load balancer serves, and Endpoints.
func (s *Supervisor) reconcileService(ctx context.Context, key string) error {
	o, err := s.get(machineServices(), key)
	if o == nil || err != nil {
		s.pool.release(key)
		return err
	}
	if o.GetDeletionTimestamp() != nil {
		return s.deleteService(ctx, o)
	}
	client := s.dynamic.Resource(machineServices()).Namespace(o.GetNamespace())
	if !slices.Contains(o.GetFinalizers(), serviceFinalizer) {
		o.SetFinalizers(append(o.GetFinalizers(), serviceFinalizer))
		_, err := client.Update(ctx, o, metav1.UpdateOptions{})
		return err // the change leads here again
	}
	var spec machineService
	raw, _, _ := unstructured.NestedMap(o.Object, "spec")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &spec); err != nil {
		return err
	}
	service, err := s.ensureService(ctx, o, spec)
	if err != nil {
		return err
	}
	if err := s.ensureEndpoints(ctx, o, spec); err != nil {
		return err
	}
	ingress := []any{}
	for _, i := range service.Status.LoadBalancer.Ingress {
		ingress = append(ingress, map[string]any{"ip": i.IP})
	}
	status := map[string]any{"loadBalancer": map[string]any{}}
	if len(ingress) > 0 {
		status["loadBalancer"] = map[string]any{"ingress": ingress}
	}
	if had, _, _ := unstructured.NestedMap(o.Object, "status"); equality.Semantic.DeepEqual(had, status) {
		return nil
	}
	o.Object["status"] = status
	_, err = client.UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}

// deleteService deletes the Service, and lets the object go.
func (s *Supervisor) deleteService(ctx context.Context, o *unstructured.Unstructured) error {
	if !slices.Contains(o.GetFinalizers(), serviceFinalizer) {
		return nil
	}
	core := s.core.CoreV1()
	for _, err := range []error{
		core.Endpoints(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{}),
		core.Services(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{}),
	} {
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	s.pool.release(o.GetNamespace() + "/" + o.GetName())
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == serviceFinalizer }))
	_, err := s.dynamic.Resource(machineServices()).Namespace(o.GetNamespace()).Update(ctx, o, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// ensureService makes the Service that the load balancer of the Supervisor serves, and gives it an address.
func (s *Supervisor) ensureService(ctx context.Context, o *unstructured.Unstructured, spec machineService) (*corev1.Service, error) {
	client := s.core.CoreV1().Services(o.GetNamespace())
	service, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, err
	}
	next := service.DeepCopy()
	if missing {
		next = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: o.GetName()}}
	}
	next.Labels, next.Annotations = maps.Clone(o.GetLabels()), maps.Clone(o.GetAnnotations())
	next.OwnerReferences = []metav1.OwnerReference{ownerReference(o)}
	next.Spec.Type, next.Spec.ExternalName = spec.Type, spec.ExternalName
	next.Spec.LoadBalancerIP, next.Spec.LoadBalancerSourceRanges = spec.LoadBalancerIP, spec.LoadBalancerSourceRanges
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		next.Spec.AllocateLoadBalancerNodePorts = new(bool)
	}
	next.Spec.Ports = mergePorts(next.Spec.Ports, spec)
	switch {
	case missing:
		service, err = client.Create(ctx, next, metav1.CreateOptions{})
	case !equality.Semantic.DeepEqual(service, next):
		service, err = client.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", o.GetName(), err)
	}
	if spec.Type != corev1.ServiceTypeLoadBalancer {
		return service, nil
	}
	return s.giveAddress(ctx, o, service)
}

// mergePorts returns the ports of a spec, with what the API server has added to those that stay.
func mergePorts(had []corev1.ServicePort, spec machineService) (all []corev1.ServicePort) {
	for _, p := range spec.Ports {
		next := corev1.ServicePort{Name: p.Name, Protocol: corev1.Protocol(p.Protocol), Port: p.Port, TargetPort: intstr.FromInt32(p.TargetPort)}
		for _, old := range had {
			if old.Name == next.Name && old.Port == next.Port && old.Protocol == next.Protocol {
				next.NodePort, next.AppProtocol = old.NodePort, old.AppProtocol
			}
		}
		all = append(all, next)
	}
	return all
}

// giveAddress gives a Service an address of the load balancer. Without one that is free it stays without, with an Event.
func (s *Supervisor) giveAddress(ctx context.Context, o *unstructured.Unstructured, service *corev1.Service) (*corev1.Service, error) {
	key := o.GetNamespace() + "/" + o.GetName()
	address, err := s.pool.take(key, service.Spec.LoadBalancerIP)
	if err != nil {
		s.note(ctx, o, "LoadBalancerFailed", err.Error())
		s.loop(machineServices()).queue.AddAfter(key, time.Second)
		return service, nil
	}
	status := corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: address.String()}}}
	if len(service.Status.LoadBalancer.Ingress) == 1 && service.Status.LoadBalancer.Ingress[0].IP == address.String() {
		return service, nil
	}
	service = service.DeepCopy()
	service.Status.LoadBalancer = status
	return s.core.CoreV1().Services(service.Namespace).UpdateStatus(ctx, service, metav1.UpdateOptions{})
}

// note writes an Event on a VirtualMachineService, once for each text.
func (s *Supervisor) note(ctx context.Context, o *unstructured.Unstructured, reason, message string) {
	now := metav1.Now()
	_, err := s.core.CoreV1().Events(o.GetNamespace()).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: o.GetName() + "." + policyID(reason+message)},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
		},
		Type: corev1.EventTypeWarning, Reason: reason, Message: message, Source: corev1.EventSource{Component: "load-balancer"},
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if unlessExists(err) != nil {
		s.opts.Logger.Warn("supervisor", "event", reason, "err", err)
	}
}

// ensureEndpoints makes the Endpoints of a VirtualMachineService those of the VirtualMachines that its selector matches.
func (s *Supervisor) ensureEndpoints(ctx context.Context, o *unstructured.Unstructured, spec machineService) error {
	if len(spec.Selector) == 0 {
		return nil // its owner writes them
	}
	matched, err := s.list(machines(), o.GetNamespace(), labels.SelectorFromSet(spec.Selector))
	if err != nil {
		return err
	}
	var subset corev1.EndpointSubset //nolint:staticcheck // VM Operator writes Endpoints
	for _, m := range matched {
		ip := text(m, "status", "network", "primaryIP4")
		if ip == "" {
			ip = text(m, "status", "network", "primaryIP6")
		}
		if ip == "" || m.GetDeletionTimestamp() != nil {
			continue
		}
		subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: ip, TargetRef: &corev1.ObjectReference{
			APIVersion: m.GetAPIVersion(), Kind: m.GetKind(), Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(),
		}})
	}
	for _, p := range spec.Ports {
		subset.Ports = append(subset.Ports, corev1.EndpointPort{Name: p.Name, Port: p.TargetPort, Protocol: corev1.Protocol(p.Protocol)})
	}
	next := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{ //nolint:staticcheck // VM Operator writes Endpoints
		Name: o.GetName(), Labels: o.GetLabels(), OwnerReferences: []metav1.OwnerReference{ownerReference(o)},
	}}
	if len(subset.Addresses) > 0 {
		next.Subsets = []corev1.EndpointSubset{subset} //nolint:staticcheck // VM Operator writes Endpoints
	}
	client := s.core.CoreV1().Endpoints(o.GetNamespace())
	had, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = client.Create(ctx, next, metav1.CreateOptions{})
	case err == nil && !equality.Semantic.DeepEqual(had.Subsets, next.Subsets):
		next.ResourceVersion = had.ResourceVersion
		_, err = client.Update(ctx, next, metav1.UpdateOptions{})
	}
	return err
}

// rememberServices takes the addresses that VirtualMachineServices of an earlier start have from the pool.
func (s *Supervisor) rememberServices(namespace string) error {
	services, err := s.list(machineServices(), namespace, labels.Everything())
	for _, o := range services {
		ingress, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress")
		for _, i := range ingress {
			m, _ := i.(map[string]any)
			ip, _ := m["ip"].(string)
			if address, err := netip.ParseAddr(ip); err == nil {
				s.pool.use(namespace+"/"+o.GetName(), address)
			}
		}
	}
	return err
}
