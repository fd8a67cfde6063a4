package deploy

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// caKey is the file of the vCenters' certificate authorities, beside the configuration.
const caKey = "vcenter-ca.crt"

// Config is the configuration of a provider or driver.
type Config struct {
	// Conf renders the configuration file for the place it is read from. It is called again for each update.
	Conf func(ConfigLocation) ([]byte, error)
	// CA is the certificate authorities of the vCenters, in PEM. They are a file beside the configuration: Place.CAFile.
	CA []byte
	// Secret is the data of the Secret with the credentials: "HOST.username" and "HOST.password" for every vCenter.
	Secret map[string][]byte
	// NSX is the data of the Secret ConfigLocation.NSXSecret: "username" and "password" for the NSX Manager. Nil for no such Secret, and
	// to leave an existing one as it is.
	NSX map[string][]byte
}

// ConfigLocation is where a configuration is read from.
type ConfigLocation struct {
	// File is the configuration's path, CAFile that of the certificate authorities.
	File, CAFile string
	// SecretName and SecretNamespace name the Secret with the credentials. Empty: the manifest has no Secret, and the
	// configuration itself must have the credentials.
	SecretName, SecretNamespace string
	// NSXSecret names the Secret with the account for the NSX Manager, in the same namespace. Empty: the configuration itself must have
	// the account. Upstream's v1.36.0 logs in before it has read a Secret, and ends when NSX refuses that.
	NSXSecret string
}

// layout locates a configuration in the cluster.
type layout struct {
	ConfigLocation
	// holder is the ConfigMap or Secret that is mounted as the folder of the file, key the file's name.
	holder, holderNamespace string
	holderIsSecret          bool
	key                     string
	// image is the image of the container that reads the file, if it is from a manifest.
	image string
}

// write stores the configuration in the cluster: first the Secret, since the file names it.
func (d *Deployment) write(ctx context.Context, l layout, c Config, part string) error {
	conf, err := c.Conf(l.ConfigLocation)
	if err != nil {
		return fmt.Errorf("configuration for %s: %w", l.holder, err)
	}
	if l.SecretName != "" && !(l.holderIsSecret && l.holder == l.SecretName) {
		if err := d.content(ctx, secretOf(l.SecretNamespace, l.SecretName, c.Secret), part); err != nil {
			return err
		}
	}
	if o := nsxSecret(l, c); o != nil {
		if err := d.content(ctx, o, part); err != nil {
			return err
		}
	}
	files := map[string][]byte{l.key: conf}
	if len(c.CA) > 0 {
		files[caKey] = c.CA
	}
	if l.holderIsSecret {
		return d.content(ctx, secretOf(l.holderNamespace, l.holder, files), part)
	}
	text := map[string]any{}
	for name, data := range files {
		text[name] = string(data)
	}
	return d.content(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": l.holder, "namespace": l.holderNamespace}, "data": text,
	}}, part)
}

// nsxSecret is the Secret with the account for the NSX Manager; nil for none.
func nsxSecret(l layout, c Config) *unstructured.Unstructured {
	if c.NSX == nil || l.NSXSecret == "" {
		return nil
	}
	return secretOf(l.SecretNamespace, l.NSXSecret, c.NSX)
}

func secretOf(namespace, name string, data map[string][]byte) *unstructured.Unstructured {
	encoded := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		encoded[key] = base64.StdEncoding.EncodeToString(data[key])
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "data": encoded,
	}}
}

// content replaces the data of a ConfigMap or Secret: the example keys of a manifest would be read, too.
func (d *Deployment) content(ctx context.Context, o *unstructured.Unstructured, part string) error {
	into, err := d.resource(o)
	if err != nil {
		return err
	}
	mark(o, part)
	d.stamp(o)
	existing, err := into.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = into.Create(ctx, o, metav1.CreateOptions{FieldManager: contentManager})
		return named(o, err)
	}
	if err != nil {
		return named(o, err)
	}
	if !ours(existing) {
		return &NotOwnedError{Objects: []string{title(o)}}
	}
	existing = existing.DeepCopy()
	mark(existing, part)
	d.stamp(existing)
	existing.Object["data"] = o.Object["data"]
	delete(existing.Object, "stringData")
	_, err = into.Update(ctx, existing, metav1.UpdateOptions{FieldManager: contentManager})
	return named(o, err)
}

// named adds the object to an error; nil stays nil.
func named(o *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", title(o), err)
}

// CSICredentials returns the Secret with the credentials of the sandbox's own CSI driver. It has the same keys as the
// cloud controller manager's, but is a separate one in another namespace.
func CSICredentials() (namespace, name string) {
	l := ownCSILayout()
	return l.SecretNamespace, l.SecretName
}

// withFlags returns args with flags ("--name=value") appended, or in place of those of the same names.
func withFlags(args []string, flags ...string) []string {
	args = slices.Clone(args)
	for _, flag := range flags {
		name, _, _ := strings.Cut(flag, "=")
		if i := flagAt(args, name); i >= 0 {
			args[i] = flag
		} else {
			args = append(args, flag)
		}
	}
	return args
}

// withoutFlags returns args without the flags of these names.
func withoutFlags(args []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(names, name)
	})
}

func flagAt(args []string, name string) int {
	return slices.IndexFunc(args, func(a string) bool { return a == name || strings.HasPrefix(a, name+"=") })
}

// flagValue returns the value of a flag, in either syntax, or "".
func flagValue(args []string, name string) string {
	i := flagAt(args, name)
	switch {
	case i < 0:
		return ""
	case args[i] != name:
		return args[i][len(name)+1:]
	case i+1 < len(args):
		return args[i+1]
	default:
		return ""
	}
}

// NSXManager is the name of the NSX Manager as an [Endpoint], and of its Service.
const NSXManager = "nsx-manager"

// Endpoint is a vCenter, or the NSX Manager, as nodes of the cluster reach it.
type Endpoint struct {
	// Name is the vCenter's, or NSXManager.
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
