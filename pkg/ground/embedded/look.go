package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/wire"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded/egress"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

// Sockets: apiSocket is that of a kubelet's API in its root directory, the others are in the directory of the sandbox.
const (
	apiSocket     = "/kubelet.sock"
	egressSocket  = "/egress.sock"
	metricsSocket = "/metrics.sock"
)

// Kubelet is a kubelet as the API server reaches it.
type Kubelet struct {
	// Node is the name of its Node.
	Node string
	VM   world.VM
	// Addresses are those of the VM, or the last ones when its guest does not run.
	Addresses []string
	Process   node.Process
	Light     bool
	// Dir is its directory, Proxy its proxy to the API server: a cut cuts both directions.
	Dir   string
	Proxy *wire.Wire
}

// listen starts the proxy to nodes. The API server asks it from its start on.
func (g *Ground) listen() error {
	for socket, path := range map[string]*string{egressSocket: &g.Egress, metricsSocket: &g.Metrics} {
		dir, err := g.Instance.ShortPath(socket)
		if err != nil {
			return err
		}
		*path = dir + socket
	}
	var err error
	g.egress, err = egress.Listen(g.Egress, g.route)
	return err
}

// route implements [egress.Route].
func (g *Ground) route(host, port string) (egress.Target, error) {
	ip := net.ParseIP(host)
	switch {
	case host == contract.MetricsHost:
		return egress.Target{Network: "unix", Address: g.Metrics, Refused: "the metrics server does not listen yet"}, nil
	case host == "localhost", ip != nil && ip.IsLoopback(): // a server of the user's, behind an APIService
		return egress.Target{Network: "tcp", Address: net.JoinHostPort(host, port)}, nil
	case port != strconv.Itoa(contract.KubeletPort):
		return egress.Target{}, fmt.Errorf("%s: the embedded control plane has no network of pods and Services", net.JoinHostPort(host, port))
	}
	k, err := g.Host.Kubelet(host)
	if err == nil {
		err = k.unreachable()
	}
	if err != nil {
		return egress.Target{}, err
	}
	if _, err := g.cluster.NodeServer(k.Dir, k.Node, k.Addresses); err != nil { // for an address that is new
		return egress.Target{}, err
	}
	root, err := g.root(k.Dir)
	return egress.Target{
		Network: "unix", Address: root + apiSocket, Wire: k.Proxy, Refused: fmt.Sprintf("the kubelet of VM %s does not listen yet", k.VM.Name),
	}, err
}

// unreachable returns why a kubelet cannot be reached; nil if it can.
func (k Kubelet) unreachable() error {
	name := k.VM.Name
	switch {
	case !k.VM.Exists:
		return fmt.Errorf("VM %s is gone", name)
	case k.VM.Power == string(node.Off):
		return fmt.Errorf("VM %s is off", name)
	case k.Light:
		return fmt.Errorf("VM %s is a light node: it has no kubelet, so no logs, exec, attach, port-forward and metrics", name)
	case k.Process == node.Paused, k.VM.Power == string(node.Suspended):
		return fmt.Errorf("VM %s is suspended", name)
	case k.Process == node.Hung:
		return fmt.Errorf("VM %s hangs", name)
	case k.Process == node.Crashing:
		return fmt.Errorf("the kubelet of VM %s has crashed, and restarts", name)
	case k.Process == node.Stopped:
		return fmt.Errorf("the guest of VM %s has not booted", name)
	case k.Proxy != nil && k.Proxy.IsCut():
		return fmt.Errorf("the network of VM %s is cut", name)
	}
	return nil
}

// root is the root directory of the kubelet in dir. It creates sockets there, and the kernel limits the length of their paths.
func (g *Ground) root(dir string) (string, error) {
	return g.Instance.ShortPath(node.LongestSocket, "nodes", filepath.Base(dir), "kubelet")
}

// grant binds users of the control plane to what they may do. What exists is kept: the control plane may have restarted.
func grant(ctx context.Context, client kubernetes.Interface) error {
	rbac := client.RbacV1()
	_, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: embedded.MetricsServer},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"nodes/metrics"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"get", "list"}},
		},
	}, metav1.CreateOptions{})
	errs := []error{unlessExists(err)}
	_, err = rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "system:aggregated-metrics-reader", Labels: map[string]string{
			"rbac.authorization.k8s.io/aggregate-to-view": "true", "rbac.authorization.k8s.io/aggregate-to-edit": "true", "rbac.authorization.k8s.io/aggregate-to-admin": "true",
		}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"metrics.k8s.io"}, Resources: []string{"pods", "nodes"}, Verbs: []string{"get", "list", "watch"}}},
	}, metav1.CreateOptions{})
	errs = append(errs, unlessExists(err))
	for user, role := range map[string]string{embedded.KubeletClient: "system:kubelet-api-admin", embedded.MetricsServer: embedded.MetricsServer} {
		_, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}, metav1.CreateOptions{})
		errs = append(errs, unlessExists(err))
	}
	return errors.Join(errs...)
}

// serveMetrics registers the resource metrics API. Its Service is only a name for the proxy.
func serveMetrics(ctx context.Context, c *embedded.Cluster) error {
	const name, version, object = "metrics-server", "v1beta1", "v1beta1.metrics.k8s.io"
	_, err := c.Client().CoreV1().Services(metav1.NamespaceSystem).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: contract.MetricsHost},
	}, metav1.CreateOptions{})
	if unlessExists(err) != nil {
		return fmt.Errorf("service %s: %w", name, err)
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": object},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": version, "groupPriorityMinimum": 100, "versionPriority": 100,
			"service": map[string]any{"namespace": metav1.NamespaceSystem, "name": name, "port": 443}, "caBundle": c.Authority(),
		},
	})
	if err != nil {
		return err
	}
	// No client of the aggregator is linked for this one object. It is applied, for the cluster may have another authority than
	// before; a conflict is with a user who has replaced it.
	err = c.Client().Discovery().RESTClient().Patch(types.ApplyPatchType).AbsPath("/apis/apiregistration.k8s.io/v1/apiservices", object).
		Param("fieldManager", "vsphere-sandbox").Body(body).Do(ctx).Error()
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("apiservice %s: %w", object, err)
	}
	return nil
}

func unlessExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
