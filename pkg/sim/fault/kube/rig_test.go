package kube_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/rbac"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/kube"
)

// rig is a cluster of one node, worker-1, with everything that a cloud controller manager needs, and fake processes.
type rig struct {
	*fault.Engine
	t         *testing.T
	client    *fake.Clientset
	dynamic   dynamic.Interface
	processes *processes
	log       *event.Log
}

const conf = `global:
  port: 443
  secretName: vsphere-cloud-secret
  secretNamespace: kube-system
vcenter:
  us:
    server: 127.0.0.1
    datacenters: [dc]
`

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, log: event.NewLog(0)}
	objects := []runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "vsphere-cloud-secret", Labels: map[string]string{"team": "infra"}},
			Type:       corev1.SecretTypeOpaque,
			Data: map[string][]byte{
				"127.0.0.1.username": []byte("admin"), "127.0.0.1.password": []byte("secret"),
				"127.0.0.2.username": []byte("admin"), "127.0.0.2.password": []byte("secret2"),
			},
		},
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "vsphere-cloud-config"},
			Data:       map[string]string{"vsphere.conf": conf},
		},
		r.node(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "vmware-system-csi", Name: "csi-attacher"}},
		&storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: "worker-1", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "worker-1", UID: "first"}}},
			Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "csi.vsphere.vmware.com", NodeID: "4200"}}},
		},
		&storagev1.StorageClass{
			ObjectMeta:  metav1.ObjectMeta{Name: "vsphere", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
			Provisioner: "csi.vsphere.vmware.com", Parameters: map[string]string{"storagepolicyname": "gold"},
		},
	}
	objects = append(objects, rbac.Objects(rbac.Config{
		Namespace: "kube-system", ServiceAccount: "cloud-controller-manager", SecretNames: []string{"vsphere-cloud-secret"},
	})...)
	r.client, r.dynamic = fake.NewClientset(objects...), kinds()
	r.processes = &processes{r: r, running: map[string]bool{"ccm": true, "control-plane": true, "node/worker-1": true, "csi-attacher": true}}
	ground := &fault.Ground{
		Items: func(_ context.Context, kind fault.Object) ([]fault.Item, error) {
			if kind == fault.Component {
				return []fault.Item{{Kind: kind, Name: "ccm"}, {Kind: kind, Name: "csi-attacher"}}, nil
			}
			return []fault.Item{{Kind: kind, VCenter: "us", Name: "worker-1", Node: "worker-1"}}, nil
		},
		Cluster: cluster{r.client, r.dynamic}, Processes: r.processes, Speed: 10, Events: r.log,
	}
	r.Engine = fault.NewEngine(fault.Options{Ground: ground, Kinds: kube.Kinds()})
	t.Cleanup(func() {
		if err := r.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return r
}

// kinds are the CSINodeTopology of worker-1, and its definition.
func kinds() dynamic.Interface {
	scheme := runtime.NewScheme()
	topology := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cns.vmware.com/v1alpha1", "kind": "CSINodeTopology", "spec": map[string]any{"nodeID": "worker-1"}, "status": map[string]any{"status": "Success"},
	}}
	topology.SetName("worker-1")
	topology.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "worker-1", UID: "first"}})
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": map[string]any{"group": "cns.vmware.com"},
	}}
	definition.SetName("csinodetopologies.cns.vmware.com")
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(scheme, map[schema.GroupVersionResource]string{
		nodetopology.Resource(): "CSINodeTopologyList", definitions(): "CustomResourceDefinitionList",
	}, topology, definition)
}

func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// node is worker-1 as it registers, with what a person and the cloud provider gave it.
func (r *rig) node() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-1", UID: "first", Labels: map[string]string{corev1.LabelHostname: "worker-1", "rack": "a"}},
		Spec:       corev1.NodeSpec{ProviderID: "vsphere://42000000-0000-4000-8000-000000000001", Unschedulable: true},
	}
}

// cluster implements [fault.Kubernetes].
type cluster struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

func (c cluster) Client() kubernetes.Interface          { return c.client }
func (c cluster) Dynamic() (dynamic.Interface, error)   { return c.dynamic, nil }
func (c cluster) Credentials() (namespace, name string) { return "kube-system", "vsphere-cloud-secret" }

func (c cluster) Config() (namespace, name string) { return "kube-system", "vsphere-cloud-config" }

func (c cluster) Account(of string) (namespace, name string, err error) {
	switch of {
	case "csi-attacher":
		return "vmware-system-csi", "csi-attacher", nil
	case "ccm":
	default:
		return "", "", fmt.Errorf("component %q: has no ServiceAccount", of)
	}
	return "kube-system", "cloud-controller-manager", nil
}

// processes implements [fault.Processes] and everything that a sandbox's can do besides.
type processes struct {
	r *rig

	mu      sync.Mutex
	running map[string]bool
	extra   int // cloud controller managers beside the first
	calls   []string
	causes  []uint64
	leader  string
}

func (p *processes) did(component, format string, args ...any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if component != "" && !p.running[component] {
		return errors.New(component + ": there is none")
	}
	p.calls = append(p.calls, fmt.Sprintf(format, args...))
	return nil
}

func (p *processes) started(component string) {
	p.r.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "child.started", Object: event.Object{Kind: "Component", Name: component}})
}

func (p *processes) Kill(_ context.Context, c string) error {
	defer p.started(c)
	return p.did(c, "kill %s", c)
}
func (p *processes) Pause(_ context.Context, c string) error  { return p.did(c, "pause %s", c) }
func (p *processes) Resume(_ context.Context, c string) error { return p.did(c, "resume %s", c) }
func (p *processes) Cut(c string, silent bool) error {
	return p.did(c, "cut %s silent=%v", c, silent)
}
func (p *processes) Restore(c string) error { return p.did(c, "mend %s", c) }

// Restart makes a kubelet register its node, if it is missing.
func (p *processes) Restart(ctx context.Context, c string) error {
	if err := p.did(c, "restart %s", c); err != nil || c != "node/worker-1" {
		return err
	}
	n := p.r.node()
	n.UID, n.Spec = "again", corev1.NodeSpec{}
	n.Labels = map[string]string{corev1.LabelHostname: "worker-1"}
	_, err := p.r.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
	return err
}

func (p *processes) Running(c string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running[c] {
		return errors.New("there is none")
	}
	return nil
}

func (p *processes) Replicas(c string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.running[c]:
		return 0
	case c == "ccm":
		return 1 + p.extra
	}
	return 1
}

func (p *processes) Scale(_ context.Context, c string, n int) error {
	if err := p.did(c, "scale %s %d", c, n); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.extra = n - 1
	p.running["ccm-2"] = n > 1
	return nil
}

func (p *processes) Causing(_ string, seq uint64) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.causes = append(p.causes, seq)
	return func() {}
}
func (p *processes) Leader(string) string           { return p.leader }
func (p *processes) SlowEtcd(d time.Duration) error { return p.did("", "slow etcd %s", d) }
func (p *processes) RenewToken(_ context.Context, c string) error {
	return p.did(c, "renew token of %s", c)
}

func (p *processes) WithholdLinks(c string, withheld bool) error {
	return p.did(c, "withhold links of %s %v", c, withheld)
}

func (p *processes) RegisterCSI(c string, registered bool) error {
	return p.did(c, "register %s %v", c, registered)
}

// since returns what was asked for after the first n calls.
func (p *processes) since(n int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls[n:])
}

// request chooses the only node, where a kind wants one.
func (r *rig) request(kind string, params map[string]string) fault.Request {
	r.t.Helper()
	k, err := fault.Find(r.Kinds(), kind)
	if err != nil {
		r.t.Fatal(err)
	}
	q := fault.Request{Kind: kind, Params: params}
	switch k.Object {
	case fault.Sandbox:
	case fault.Component:
		q.On.Names = []string{"csi-attacher"}
	default:
		q.On.Names = []string{"worker-1"}
	}
	return q
}

func (r *rig) inject(kind string, params map[string]string) fault.Lease {
	r.t.Helper()
	l, err := r.Inject(r.t.Context(), r.request(kind, params))
	if err != nil {
		r.t.Fatalf("inject %s: %v", kind, err)
	}
	return l
}

// refused injects what has to be refused.
func (r *rig) refused(kind string, params map[string]string) *fault.Refusal {
	r.t.Helper()
	_, err := r.Inject(r.t.Context(), r.request(kind, params))
	refusal := (*fault.Refusal)(nil)
	if !errors.As(err, &refusal) {
		r.t.Fatalf("inject %s: %v: no refusal", kind, err)
	}
	return refusal
}

// heal heals twice.
func (r *rig) heal(id string) {
	r.t.Helper()
	for range 2 {
		if _, err := r.Heal(r.t.Context(), id); err != nil {
			r.t.Fatalf("heal %s: %v", id, err)
		}
	}
}

// objects is everything that faults may touch, as the API shows it, without what the API server counts.
func (r *rig) objects() map[string]any {
	r.t.Helper()
	all := map[string]any{}
	ctx, core, roles := r.t.Context(), r.client.CoreV1(), r.client.RbacV1()
	keep := func(kind string, m metav1.ObjectMeta, what any) {
		all[kind+" "+m.Namespace+"/"+m.Name] = []any{m.Labels, what}
	}
	must := func(err error) {
		if err != nil {
			r.t.Fatal(err)
		}
	}
	secrets, err := core.Secrets("").List(ctx, metav1.ListOptions{})
	must(err)
	for _, o := range secrets.Items {
		keep("Secret", o.ObjectMeta, []any{o.Type, o.Data})
	}
	maps, err := core.ConfigMaps("").List(ctx, metav1.ListOptions{})
	must(err)
	for _, o := range maps.Items {
		keep("ConfigMap", o.ObjectMeta, o.Data)
	}
	accounts, err := core.ServiceAccounts("").List(ctx, metav1.ListOptions{})
	must(err)
	for _, o := range accounts.Items {
		keep("ServiceAccount", o.ObjectMeta, nil)
	}
	nodes, err := core.Nodes().List(ctx, metav1.ListOptions{})
	must(err)
	for _, o := range nodes.Items {
		keep("Node", o.ObjectMeta, []any{len(o.Spec.Taints), o.Spec.Unschedulable})
	}
	csiNodes, err := r.client.StorageV1().CSINodes().List(ctx, metav1.ListOptions{})
	must(err)
	for _, o := range csiNodes.Items {
		keep("CSINode", o.ObjectMeta, []any{o.OwnerReferences, o.Spec})
	}
	classes, err := r.client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	must(err)
	for _, o := range classes.Items {
		keep("StorageClass", o.ObjectMeta, []any{o.Annotations, o.Provisioner, o.Parameters})
	}
	for _, kind := range []schema.GroupVersionResource{definitions(), nodetopology.Resource()} {
		list, err := r.dynamic.Resource(kind).List(ctx, metav1.ListOptions{})
		must(err)
		for _, o := range list.Items {
			all[o.GetKind()+" /"+o.GetName()] = []any{o.GetLabels(), o.GetOwnerReferences(), o.Object["spec"]}
		}
	}
	clusterRoles, err := roles.ClusterRoles().List(ctx, metav1.ListOptions{})
	must(err)
	for _, o := range clusterRoles.Items {
		keep("ClusterRole", o.ObjectMeta, o.Rules)
	}
	clusterBindings, err := roles.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	must(err)
	for _, o := range clusterBindings.Items {
		keep("ClusterRoleBinding", o.ObjectMeta, []any{o.RoleRef, o.Subjects})
	}
	namespaced, err := roles.Roles("").List(ctx, metav1.ListOptions{})
	must(err)
	for _, o := range namespaced.Items {
		keep("Role", o.ObjectMeta, o.Rules)
	}
	bindings, err := roles.RoleBindings("").List(ctx, metav1.ListOptions{})
	must(err)
	for _, o := range bindings.Items {
		keep("RoleBinding", o.ObjectMeta, []any{o.RoleRef, o.Subjects})
	}
	return all
}
