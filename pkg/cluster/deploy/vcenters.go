package deploy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Endpoint is a vCenter as nodes of the cluster reach it.
type Endpoint struct {
	// Name is the vCenter's.
	Name string
	// Addr is where it listens, as nodes see it: the address of a container network's gateway, say. Not a loopback address.
	Addr netip.AddrPort
	// IP is the requested ClusterIP, so that certificates can be issued before the cluster exists. Zero: any.
	IP netip.Addr
}

// PodEndpoint is how pods reach a vCenter, including pods in the host network.
type PodEndpoint struct {
	Name string
	// Host is the address, unique for this vCenter, and Port is 443. A configuration uses the address, since pods in the host
	// network do not use the cluster's DNS.
	Host string
	Port int
	// DNS is its name for other pods. Certificates need both.
	DNS string
}

// vCenterPort is where vCenters listen.
const vCenterPort = 443

// VCenters makes vCenters reachable for pods, each at its own address, since Secrets with credentials distinguish
// vCenters by host. It removes earlier ones that are not among them. Each is a Service without a selector, with one
// endpoint. The result is in the order of the endpoints.
func (d *Deployment) VCenters(ctx context.Context, endpoints []Endpoint) ([]PodEndpoint, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	all := []*unstructured.Unstructured{namespaceObject()}
	taken := map[string]string{}
	for _, e := range endpoints {
		if err := e.check(); err != nil {
			return nil, err
		}
		if other, ok := taken[e.Name]; ok {
			return nil, fmt.Errorf("vcenter %q: it is named twice, at %s and %s", e.Name, other, e.Addr)
		}
		taken[e.Name] = e.Addr.String()
		some, err := e.objects()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if err := d.moveServices(ctx, endpoints); err != nil {
		return nil, err
	}
	if err := d.install(ctx, all); err != nil {
		return nil, fmt.Errorf("make vCenters reachable: %w", err)
	}
	if err := d.prune(ctx, partVC, all); err != nil {
		return nil, fmt.Errorf("make vCenters reachable: %w", err)
	}
	reached := make([]PodEndpoint, len(endpoints))
	for i, e := range endpoints {
		s, err := d.client.CoreV1().Services(Namespace).Get(ctx, serviceName(e.Name), metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("vcenter %q: %w", e.Name, err)
		}
		reached[i] = PodEndpoint{Name: e.Name, Host: s.Spec.ClusterIP, Port: vCenterPort, DNS: ServiceDNS(e.Name)}
	}
	return reached, nil
}

func (e Endpoint) check() error {
	switch ip := e.Addr.Addr(); {
	case e.Name == "":
		return errors.New("vcenter: no name")
	case !e.Addr.IsValid() || e.Addr.Port() == 0:
		return fmt.Errorf("vcenter %q: no address at which nodes reach it", e.Name)
	case ip.IsLoopback(), ip.IsUnspecified(), ip.IsLinkLocalUnicast(), ip.IsMulticast():
		return fmt.Errorf("vcenter %q: nodes cannot reach %s, which is a different host on each of them: listen on the address of the nodes' gateway", e.Name, e.Addr)
	default:
		return nil
	}
}

// ServiceDNS returns the DNS name of a vCenter for pods, which is known before the cluster exists.
func ServiceDNS(vcenter string) string { return serviceName(vcenter) + "." + Namespace + ".svc" }

// serviceName returns the name of a vCenter's Service: its own if that is a DNS label, else the valid part of it with a
// hash that makes it unique.
func serviceName(vcenter string) string {
	if len(vcenter) <= 63 && regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`).MatchString(vcenter) {
		return vcenter
	}
	left := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(vcenter), "-"), "-")
	sum := sha256.Sum256([]byte(vcenter))
	return strings.Trim("vc-"+left[:min(len(left), 40)], "-") + "-" + hex.EncodeToString(sum[:4])
}

func namespaceObject() *unstructured.Unstructured {
	o := bare("v1", "Namespace", "", Namespace)
	mark(o, partVC)
	return o
}

// objects returns the Service and its EndpointSlice.
func (e Endpoint) objects() ([]*unstructured.Unstructured, error) {
	name, ip := serviceName(e.Name), e.Addr.Addr().Unmap()
	family, kind := corev1.IPv4Protocol, discoveryv1.AddressTypeIPv4
	if ip.Is6() {
		family, kind = corev1.IPv6Protocol, discoveryv1.AddressTypeIPv6
	}
	meta := func() metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: name, Namespace: Namespace, Annotations: map[string]string{"vsphere-sandbox/vcenter": e.Name},
			Labels: map[string]string{ManagedByLabel: ManagedBy, partLabel: partVC},
		}
	}
	service := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta(),
		Spec: corev1.ServiceSpec{
			IPFamilies: []corev1.IPFamily{family},
			Ports:      []corev1.ServicePort{{Name: "https", Port: vCenterPort, Protocol: corev1.ProtocolTCP}},
		},
	}
	if e.IP.IsValid() {
		service.Spec.ClusterIP = e.IP.Unmap().String()
	}
	slice := &discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, ObjectMeta: meta(),
		AddressType: kind,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{ip.String()}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(e.Addr.Port())), Protocol: new(corev1.ProtocolTCP)}},
	}
	slice.Labels[discoveryv1.LabelServiceName] = name
	slice.Labels[discoveryv1.LabelManagedBy] = ManagedBy
	var all []*unstructured.Unstructured
	for _, o := range []any{service, slice} {
		u := &unstructured.Unstructured{}
		if err := back(u, o); err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

// moveServices removes Services of ours with another ClusterIP than requested: it is immutable.
func (d *Deployment) moveServices(ctx context.Context, endpoints []Endpoint) error {
	services := d.client.CoreV1().Services(Namespace)
	for _, e := range endpoints {
		if !e.IP.IsValid() {
			continue
		}
		existing, err := services.Get(ctx, serviceName(e.Name), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("vcenter %q: %w", e.Name, err)
		}
		if !ours(existing) || existing.Spec.ClusterIP == e.IP.Unmap().String() {
			continue
		}
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(existing)
		if err != nil {
			return err
		}
		o := &unstructured.Unstructured{Object: raw}
		o.SetAPIVersion("v1")
		o.SetKind("Service")
		if err := d.remove(ctx, o); err != nil {
			return named(o, err)
		}
	}
	return nil
}
