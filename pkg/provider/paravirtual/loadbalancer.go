package paravirtual

import (
	"context"
	"crypto/md5" //nolint:gosec // upstream's names have it; it protects nothing
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/supervisor"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/vmoperator"
)

// Annotations of VirtualMachineServices, which are upstream's (vsphereparavirtual/vmservice).
const (
	annotationTrafficPolicy   = "virtualmachineservice.vmoperator.vmware.com/service.externalTrafficPolicy"
	annotationHealthCheckPort = "virtualmachineservice.vmoperator.vmware.com/service.healthCheckNodePort"
	// annotationPropagated lists the keys that were copied from the Service, so that those it no longer has can be removed without
	// touching the annotations of others.
	annotationPropagated = "sandbox.vsphere/propagated-annotations"

	selectorRole = "node" // worker VMs
	// maxSum is the length of the checksum in a name, so that the name is a DNS label for a cluster's name of 41 characters.
	maxSum = 21

	// newTime is how long a VirtualMachineService is new, and firstReads how often it is then read, within a second.
	newTime    = 10 * time.Second
	firstReads = 4
	// deleteTime is how long a deletion waits for VM Operator. The caller tries again.
	deleteTime = 5 * time.Second
)

// The reasons of Events about Services.
const (
	// ReasonNoLoadBalancerVMs: no VirtualMachine has the labels that the load balancer selects.
	ReasonNoLoadBalancerVMs = "NoLoadBalancerVMs"
	// ReasonLoadBalancerOption: a field of the Service has no effect here.
	ReasonLoadBalancerOption = "LoadBalancerOptionIgnored"
)

var (
	errNotOurs  = errors.New("belongs to another Service")
	errDeleting = errors.New("is being deleted")
)

// loadBalancers makes a VirtualMachineService of each Service of type LoadBalancer.
type loadBalancers struct{ *Provider }

var _ cloudprovider.LoadBalancer = loadBalancers{}

// GetLoadBalancerName implements [cloudprovider.LoadBalancer].
func (l loadBalancers) GetLoadBalancerName(_ context.Context, clusterName string, service *corev1.Service) string {
	return serviceName(clusterName, service)
}

// serviceName returns upstream's name of a VirtualMachineService.
func serviceName(clusterName string, service *corev1.Service) string {
	sum := md5.Sum([]byte(service.Name + "." + service.Namespace)) //nolint:gosec // as above
	return clusterName + "-" + hex.EncodeToString(sum[:])[:maxSum]
}

// GetLoadBalancer implements [cloudprovider.LoadBalancer]. The caller gives the Service up without one, so that a load balancer is
// reported missing only if the namespace is the cluster's.
func (l loadBalancers) GetLoadBalancer(ctx context.Context, clusterName string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	namespace, have, err := l.get(ctx, clusterName, service)
	if err != nil {
		return nil, false, err
	}
	if have == nil {
		return nil, false, l.checkNamespace(ctx, namespace)
	}
	return statusOf(have), true, nil
}

// checkNamespace returns an error if the cluster has Nodes and the namespace has a VM of none of them.
func (p *Provider) checkNamespace(ctx context.Context, namespace string) error {
	bound := slices.ContainsFunc(p.allNodes(), func(n *corev1.Node) bool { return n.Spec.ProviderID != "" })
	if !bound {
		return nil // a cluster that is being deleted
	}
	vms, err := p.list(ctx, namespace)
	if err != nil {
		return err
	}
	if !p.anyOther(nil, vms) {
		return fmt.Errorf("namespace %q of %s: %w: check namespace, token and ca.crt in %s", namespace, p.connection.URL(), ErrWrongNamespace, p.connection.Directory())
	}
	return nil
}

// EnsureLoadBalancer implements [cloudprovider.LoadBalancer]. Without an address yet it returns a [*api.RetryError], with which the
// caller comes back earlier than with its own back-off.
func (l loadBalancers) EnsureLoadBalancer(ctx context.Context, clusterName string, service *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	now, err := l.ensure(ctx, clusterName, service)
	if err != nil {
		return nil, err
	}
	status, err := l.firstAddress(ctx, clusterName, service, now)
	if err != nil {
		return nil, err
	}
	if len(status.Ingress) == 0 {
		return nil, api.NewRetryError(fmt.Sprintf("VirtualMachineService %s/%s has no address yet: the Supervisor assigns one from its pool of addresses",
			now.Namespace, now.Name), retryAfter(time.Since(now.CreationTimestamp.Time)))
	}
	return status, nil
}

// firstAddress returns the addresses of a VirtualMachineService, and waits for them while it is new: a Supervisor usually assigns one
// at once, and an answer without one is a warning to the user.
func (l loadBalancers) firstAddress(ctx context.Context, clusterName string, service *corev1.Service, now *vmoperator.VirtualMachineService) (*corev1.LoadBalancerStatus, error) {
	status := statusOf(now)
	if time.Since(now.CreationTimestamp.Time) > newTime {
		return status, nil
	}
	pause := backoff.Backoff{Min: 50 * time.Millisecond, Max: time.Second}
	for attempt := 1; attempt <= firstReads && len(status.Ingress) == 0; attempt++ {
		if err := backoff.Sleep(ctx, pause.After(attempt)); err != nil {
			return nil, err
		}
		_, have, err := l.get(ctx, clusterName, service)
		if err != nil {
			return nil, err
		}
		if have != nil {
			status = statusOf(have)
		}
	}
	return status, nil
}

// UpdateLoadBalancer implements [cloudprovider.LoadBalancer]. VM Operator follows the VMs by their labels. A VirtualMachineService
// that was deleted behind the cluster's back is created again.
func (l loadBalancers) UpdateLoadBalancer(ctx context.Context, clusterName string, service *corev1.Service, _ []*corev1.Node) error {
	_, err := l.ensure(ctx, clusterName, service)
	return err
}

// retryAfter is how long a load balancer of this age waits for its address before it is asked for again.
func retryAfter(age time.Duration) time.Duration {
	return min(max(age/4, 500*time.Millisecond), 30*time.Second)
}

// EnsureLoadBalancerDeleted implements [cloudprovider.LoadBalancer]. It returns nil only when the VirtualMachineService does not
// exist any more: its load balancer may outlive the request to delete it.
func (l loadBalancers) EnsureLoadBalancerDeleted(ctx context.Context, clusterName string, service *corev1.Service) error {
	namespace, have, err := l.get(ctx, clusterName, service)
	switch {
	case errors.Is(err, errNotOurs):
		return nil
	case err != nil:
		return err
	case have == nil:
		return l.checkNamespace(ctx, namespace)
	}
	err = l.connection.Delete(ctx, l.services(), namespace, have.Name, string(have.UID))
	if err != nil && !supervisor.IsObjectNotFound(err) {
		return fmt.Errorf("delete VirtualMachineService %s/%s: %w", namespace, have.Name, err)
	}
	return l.waitDeleted(ctx, clusterName, service, have)
}

// waitDeleted waits for VM Operator, which removes the load balancer and then its finalizer.
func (l loadBalancers) waitDeleted(ctx context.Context, clusterName string, service *corev1.Service, gone *vmoperator.VirtualMachineService) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTime)
	defer cancel()
	pause := backoff.Backoff{Min: 50 * time.Millisecond, Max: time.Second}
	for attempt := 1; ; attempt++ {
		_, object, err := l.read(ctx, clusterName, service)
		switch {
		case err != nil:
			return err
		case object == nil || object.GetUID() != gone.UID:
			return nil
		}
		if backoff.Sleep(ctx, pause.After(attempt)) != nil {
			return fmt.Errorf("VirtualMachineService %s/%s %w: finalizers %v remain", gone.Namespace, gone.Name, errDeleting, object.GetFinalizers())
		}
	}
}

func (l loadBalancers) services() supervisor.Resource {
	return vmoperator.VirtualMachineServices(l.opts.APIVersion)
}

// get returns the VirtualMachineService of a Service, or nil if the Supervisor confirms that it does not exist. errNotOurs reports that
// the one of that name is another Service's.
func (l loadBalancers) get(ctx context.Context, clusterName string, service *corev1.Service) (namespace string, have *vmoperator.VirtualMachineService, err error) {
	namespace, object, err := l.read(ctx, clusterName, service)
	if err != nil || object == nil {
		return namespace, nil, err
	}
	have, err = typed(object)
	if err == nil && !ours(have, clusterName, service) {
		return namespace, nil, fmt.Errorf("VirtualMachineService %s/%s %w: its labels are %v", namespace, have.Name, errNotOurs, have.Labels)
	}
	return namespace, have, err
}

func (l loadBalancers) read(ctx context.Context, clusterName string, service *corev1.Service) (namespace string, object *unstructured.Unstructured, err error) {
	if namespace, err = l.connection.Namespace(); err != nil {
		return "", nil, err
	}
	object, name := &unstructured.Unstructured{}, serviceName(clusterName, service)
	err = l.connection.Get(ctx, l.services(), namespace, name, object)
	switch {
	case supervisor.IsObjectNotFound(err):
		return namespace, nil, nil
	case err != nil:
		return namespace, nil, fmt.Errorf("VirtualMachineService %s/%s: %w", namespace, name, err)
	}
	return namespace, object, nil
}

func typed(object *unstructured.Unstructured) (*vmoperator.VirtualMachineService, error) {
	s := &vmoperator.VirtualMachineService{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, s); err != nil {
		return nil, fmt.Errorf("VirtualMachineService %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	return s, nil
}

// ours reports whether the labels are of this Service. One without labels is: older versions of upstream's provider set none.
func ours(s *vmoperator.VirtualMachineService, clusterName string, service *corev1.Service) bool {
	for key, want := range serviceLabels(clusterName, service) {
		if have, ok := s.Labels[key]; ok && have != want {
			return false
		}
	}
	return true
}

func serviceLabels(clusterName string, service *corev1.Service) map[string]string {
	return map[string]string{vmoperator.LabelCluster: clusterName, vmoperator.LabelService: service.Name, vmoperator.LabelServiceNamespace: service.Namespace}
}

// ensure creates or updates the VirtualMachineService, and returns it.
func (l loadBalancers) ensure(ctx context.Context, clusterName string, service *corev1.Service) (*vmoperator.VirtualMachineService, error) {
	spec, err := l.spec(clusterName, service)
	if err != nil {
		return nil, err
	}
	namespace, object, err := l.read(ctx, clusterName, service)
	if err != nil {
		return nil, err
	}
	result := &vmoperator.VirtualMachineService{}
	if object == nil {
		owner, err := readOwner(l.opts.OwnerReferenceFile)
		if err != nil {
			return nil, err
		}
		if err := l.checkNamespace(ctx, namespace); err != nil {
			return nil, err
		}
		wanted := &vmoperator.VirtualMachineService{
			TypeMeta: metav1.TypeMeta{APIVersion: "vmoperator.vmware.com/" + l.opts.APIVersion, Kind: "VirtualMachineService"},
			ObjectMeta: metav1.ObjectMeta{
				Name: serviceName(clusterName, service), Namespace: namespace,
				Labels: serviceLabels(clusterName, service), Annotations: l.annotations(nil, service),
				OwnerReferences: []metav1.OwnerReference{owner},
			},
			Spec: spec,
		}
		if err := l.connection.Create(ctx, l.services(), namespace, wanted, result); err != nil {
			return nil, fmt.Errorf("create VirtualMachineService %s/%s: %w", namespace, wanted.Name, err)
		}
		l.advise(service, spec)
		return result, nil
	}
	have, err := typed(object)
	switch {
	case err != nil:
		return nil, err
	case !ours(have, clusterName, service):
		return nil, fmt.Errorf("VirtualMachineService %s/%s %w: its labels are %v", namespace, have.Name, errNotOurs, have.Labels)
	case have.DeletionTimestamp != nil:
		return nil, api.NewRetryError(fmt.Sprintf("VirtualMachineService %s/%s %s", namespace, have.Name, errDeleting), 2*time.Second)
	}
	changed, err := l.merge(object, have, spec, service)
	if err != nil || !changed {
		return have, err
	}
	if err := l.connection.Update(ctx, l.services(), namespace, have.Name, object, result); err != nil {
		return nil, fmt.Errorf("update VirtualMachineService %s/%s: %w", namespace, have.Name, err)
	}
	l.advise(service, spec)
	return result, nil
}

// merge sets in object, of which have is the typed form, what differs from spec and the Service. It leaves all other fields and
// annotations: other controllers of the Supervisor may have set them. The selector stays, as in upstream.
func (l loadBalancers) merge(object *unstructured.Unstructured, have *vmoperator.VirtualMachineService, spec vmoperator.VirtualMachineServiceSpec, service *corev1.Service) (changed bool, err error) {
	set := func(differs bool, value any, field string) {
		if !differs || err != nil {
			return
		}
		changed = true
		if reflect.ValueOf(value).IsZero() {
			unstructured.RemoveNestedField(object.Object, "spec", field)
			return
		}
		err = unstructured.SetNestedField(object.Object, value, "spec", field)
	}
	var ports []any
	for _, p := range spec.Ports {
		ports = append(ports, map[string]any{"name": p.Name, "protocol": p.Protocol, "port": int64(p.Port), "targetPort": int64(p.TargetPort)})
	}
	var ranges []any
	for _, r := range spec.LoadBalancerSourceRanges {
		ranges = append(ranges, r)
	}
	set(!slices.Equal(have.Spec.Ports, spec.Ports), ports, "ports")
	set(have.Spec.LoadBalancerIP != spec.LoadBalancerIP, spec.LoadBalancerIP, "loadBalancerIP")
	set(!slices.Equal(have.Spec.LoadBalancerSourceRanges, spec.LoadBalancerSourceRanges), ranges, "loadBalancerSourceRanges")
	if wanted := l.annotations(have.Annotations, service); !maps.Equal(have.Annotations, wanted) {
		changed = true
		object.SetAnnotations(wanted)
	}
	return changed, err
}

// spec returns what the Service asks for.
func (l loadBalancers) spec(clusterName string, service *corev1.Service) (vmoperator.VirtualMachineServiceSpec, error) {
	if clusterName == "" {
		clusterName = l.opts.ClusterName
	}
	s := vmoperator.VirtualMachineServiceSpec{
		Type:                     "LoadBalancer",
		Selector:                 selector(clusterName, l.opts.Legacy),
		LoadBalancerIP:           service.Spec.LoadBalancerIP,
		LoadBalancerSourceRanges: service.Spec.LoadBalancerSourceRanges,
	}
	for _, p := range service.Spec.Ports {
		if p.NodePort == 0 {
			return s, fmt.Errorf("port %d %s has no node port, which the load balancer needs: remove allocateLoadBalancerNodePorts: false", p.Port, p.Name)
		}
		s.Ports = append(s.Ports, vmoperator.Port{Name: p.Name, Protocol: string(p.Protocol), Port: p.Port, TargetPort: p.NodePort})
	}
	return s, nil
}

// selector returns the labels of a cluster's worker VMs.
func selector(clusterName string, legacy bool) map[string]string {
	prefix := "capv"
	if legacy {
		prefix = "capw"
	}
	return map[string]string{prefix + ".vmware.com/cluster.name": clusterName, prefix + ".vmware.com/cluster.role": selectorRole}
}

// annotations returns the annotations that a VirtualMachineService has to have if it has these now.
func (l loadBalancers) annotations(have map[string]string, service *corev1.Service) map[string]string {
	all := maps.Clone(have)
	if all == nil {
		all = map[string]string{}
	}
	drop := []string{annotationTrafficPolicy, annotationHealthCheckPort, annotationPropagated}
	if before := all[annotationPropagated]; before != "" {
		drop = append(drop, strings.Split(before, ",")...)
	}
	maps.DeleteFunc(all, func(key, _ string) bool { return slices.Contains(drop, key) })
	if service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		all[annotationTrafficPolicy] = string(service.Spec.ExternalTrafficPolicy)
		all[annotationHealthCheckPort] = strconv.Itoa(int(service.Spec.HealthCheckNodePort))
	}
	if l.opts.PropagateAnnotations {
		var copied []string
		for _, key := range slices.Sorted(maps.Keys(service.Annotations)) {
			if slices.Contains([]string{corev1.LastAppliedConfigAnnotation, annotationTrafficPolicy, annotationHealthCheckPort, annotationPropagated}, key) {
				continue
			}
			all[key] = service.Annotations[key]
			copied = append(copied, key)
		}
		if len(copied) > 0 {
			all[annotationPropagated] = strings.Join(copied, ",")
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// advise writes Events on a Service about what its load balancer will not do.
func (l loadBalancers) advise(service *corev1.Service, spec vmoperator.VirtualMachineServiceSpec) {
	if service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		l.event(service, corev1.EventTypeWarning, ReasonLoadBalancerOption,
			"sessionAffinity ClientIP is not passed on: a VirtualMachineService has no field for it, and the load balancer spreads a client's connections over VMs")
	}
	vms := l.vms.Load()
	if vms == nil || vms.Current() != nil {
		return
	}
	count := func(selected map[string]string) (n int) {
		s := labels.SelectorFromSet(selected)
		vms.Each(func(vm *vmoperator.VirtualMachine) bool {
			if s.Matches(labels.Set(vm.Labels)) && vm.UUID != (match.UUID{}) {
				n++
			}
			return true
		})
		return n
	}
	if count(spec.Selector) > 0 {
		return
	}
	hint := "check --cluster-name"
	if other := selector(l.opts.ClusterName, !l.opts.Legacy); count(other) > 0 {
		hint = fmt.Sprintf("VMs have %s: set --is-legacy-paravirtual=%t", labels.FormatLabels(other), !l.opts.Legacy)
	}
	l.event(service, corev1.EventTypeWarning, ReasonNoLoadBalancerVMs,
		fmt.Sprintf("no VirtualMachine in namespace %q has the labels %s, so that the load balancer has nothing behind it; %s",
			vms.Namespace(), labels.FormatLabels(spec.Selector), hint))
}

// statusOf returns the addresses that the Supervisor has assigned.
func statusOf(s *vmoperator.VirtualMachineService) *corev1.LoadBalancerStatus {
	status := &corev1.LoadBalancerStatus{}
	for _, i := range s.Status.LoadBalancer.Ingress {
		if i.IP != "" || i.Hostname != "" {
			status.Ingress = append(status.Ingress, corev1.LoadBalancerIngress{IP: i.IP, Hostname: i.Hostname})
		}
	}
	return status
}
