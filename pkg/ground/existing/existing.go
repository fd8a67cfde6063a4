// Package existing is the ground of a user's cluster: its Nodes are VMs of real vCenters. The sandbox is a process
// of the user's machine that watches the cluster. It makes nothing there unless a cloud controller manager runs, and then in a
// separate namespace, with roles that carry its name.
//
// Floor 3.
package existing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match/kubenode"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options say which cluster it is.
type Options struct {
	// Target is where it is. The zero value is where kubectl goes.
	Target existing.Target
	// AllowController lets a cloud controller manager run beside one that is there.
	AllowController bool
}

// Config is what the sandbox knows. All fields are mandatory.
type Config struct {
	Options
	// Name is the sandbox's, Dir its directory.
	Name, Dir string
	Topology  *topology.Topology
	// ReadOnly: no cloud controller manager of the sandbox runs.
	ReadOnly bool
	Log      *event.Log
	Host     Host
}

// Host is the sandbox.
type Host interface {
	// Detail says what the present boot step waits for.
	Detail(text string)
	// SetCluster has the sandbox use the cluster.
	SetCluster(cluster.Cluster)
	// CCMObjects are what is made for the cloud controller manager, but for the namespace.
	CCMObjects() []runtime.Object
}

// Ground implements [ground.Ground], [ground.NodeSource], [ground.Guarded] and [ground.Shared].
type Ground struct {
	Config
	cluster *existing.Cluster
	made    bool // there may be something of the sandbox in it

	mu    sync.Mutex
	nodes nodes
}

// New returns the ground; nothing is contacted.
func New(c Config) *Ground { return &Ground{Config: c} }

// Facts implements [ground.Ground].
func (g *Ground) Facts() ground.Facts {
	return ground.Facts{
		Cluster: api.ClusterExisting, Namespace: g.namespace(),
		Labels: map[string]string{deploy.ManagedByLabel: deploy.ManagedBy, deploy.InstanceLabel: g.Name},
	}
}

func (g *Ground) namespace() string { return existing.NamespaceOf(g.Name) }

// Steps implements [ground.Ground]. Nothing waits for Nodes: how they are is the cluster's own business.
func (g *Ground) Steps(s ground.Steps) []ground.Step {
	steps := []ground.Step{
		{Name: "cluster", Start: g.start, Stop: g.stop},
		s.VCenters, s.Inventory, s.Faults,
		{Name: "API server", Start: g.settle},
		s.NodeWatch,
	}
	if g.ReadOnly {
		return append(steps, s.Nodes)
	}
	return append(steps, s.CloudConfig, s.CCM, s.Nodes, s.Healthy)
}

// start finds the cluster, and refuses what would harm it, before anything is made there.
func (g *Ground) start(ctx context.Context) (err error) {
	if g.cluster, err = existing.Open(g.Target, g.Dir); err != nil {
		return err
	}
	g.Host.SetCluster(g.cluster)
	g.Host.Detail("an answer of " + g.cluster.Server())
	if _, err := g.cluster.Reach(ctx); err != nil {
		return err
	}
	g.Host.Detail("what runs there, and what you may do there")
	return g.guard(ctx)
}

// settle makes the namespace, where anything is made: the cluster has served from the beginning.
func (g *Ground) settle(ctx context.Context) error {
	if g.ReadOnly {
		return nil
	}
	// Before the first object: of a sandbox that is killed, "down" learns by it what to remove.
	note := existing.Note{Name: g.Name, Context: g.cluster.Context(), Outside: true}
	if err := existing.WriteNote(g.Dir, note); err != nil {
		return err
	}
	g.made = true
	return g.cluster.CreateNamespace(ctx, g.Name, g.Facts().Labels)
}

// removeTime is how long it may take until what was made is gone: a namespace takes its time.
const removeTime = 90 * time.Second

// stop removes what was made.
func (g *Ground) stop(ctx context.Context) error {
	if !g.made {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // it bounds steps that take less
	err := ground.WithTimeout(ctx, removeTime, func(ctx context.Context) error {
		return g.cluster.RemoveOutside(ctx, g.Name, g.Host.Detail)
	})
	if err != nil {
		return &ground.LeftError{Err: err}
	}
	return existing.RemoveNote(g.Dir)
}

// Light implements [ground.Ground].
func (*Ground) Light(*topology.VM) bool { return false }

// Nodes implements [ground.Ground].
func (*Ground) Nodes(*topology.Topology) string { return api.NodesReal }

// Guard implements [ground.Guarded].
func (g *Ground) Guard() error {
	if !g.ReadOnly { // else what forbids a cloud controller manager was not looked for
		return nil
	}
	return &api.Error{
		Code: "unsupported", Message: "this sandbox only watches a cluster that is others': no cloud controller manager is started there",
		Try: "vsphere-sandbox down, then up with --ccm",
	}
}

// Foreign implements [ground.Shared]: the sandbox watches all Nodes.
func (*Ground) Foreign(*corev1.Node) bool { return false }

// NamesFree implements [ground.Shared].
func (*Ground) NamesFree(context.Context, *topology.Topology) error { return nil }

// Guest implements [ground.Ground]: the kubelet of a real Node follows its VM without the sandbox.
func (g *Ground) Guest(ground.Node) node.Guest { return guest{g} }

// tryRecording is for what only Nodes of the sandbox allow.
const tryRecording = "vsphere-sandbox record, then up with the recording"

// Refuse implements [ground.NodeSource].
func (*Ground) Refuse(what string) error {
	return &api.Error{
		Code: "unsupported", Message: what + " only where the nodes are the sandbox's: those of this cluster are real ones, which it watches",
		Try: tryRecording,
	}
}

// Lacks implements [ground.NodeSource]: what a fault breaks there has to be the sandbox's own.
func (g *Ground) Lacks(k *fault.Kind) (why, try string) { return g.lacks(k), tryRecording }

func (g *Ground) lacks(k *fault.Kind) string {
	needs := func(n fault.Need) bool { return slices.Contains(k.Needs, n) }
	theme, _, _ := strings.Cut(k.Name, ".")
	switch theme {
	case "control-plane", "etcd":
		return "the control plane of this cluster is not the sandbox's"
	case "csi", "storageclass":
		return "there are no volumes of the sandbox in this cluster"
	}
	switch {
	case k.Object == fault.Node, needs(fault.Kubelets):
		return "the nodes of this cluster are not the sandbox's: they are real ones, which it watches"
	case g.ReadOnly && (needs(fault.Clustered) || needs(fault.Children)):
		return "no cloud controller manager of the sandbox runs in this cluster: it only watches"
	}
	return ""
}

// guest stands for a VM whose kubelet is not the sandbox's: nothing is known of its process, and nothing done to it.
type guest struct{ g *Ground }

func (guest) Observe(node.VM)                        {}
func (guest) State() (p node.Process, pid, exit int) { return "", 0, 0 }
func (guest) Stop(context.Context) error             { return nil }
func (guest) Hang() bool                             { return false }
func (guest) Unhang()                                {}
func (guest) Die()                                   {}
func (guest) WithholdLinks(bool)                     {}
func (n guest) Crash(context.Context) error          { return n.g.Refuse("a kubelet is killed") }
func (n guest) Restart(context.Context) error        { return n.g.Refuse("a kubelet is restarted") }

// SetNode implements [ground.NodeSource].
func (g *Ground) SetNode(n *corev1.Node) []string {
	role := topology.RoleWorker
	if _, ok := n.Labels[world.ControlPlaneLabel]; ok {
		role = topology.RoleControlPlane
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.nodes.set(n.Name, entry{role, uuidsOf(n)})
}

// DeleteNode implements [ground.NodeSource].
func (g *Ground) DeleteNode(name string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.nodes.drop(name)
}

// NodeOf implements [ground.NodeSource].
func (g *Ground) NodeOf(uuid string) (name string, role topology.Role, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	claims := g.nodes.claims[strings.ToLower(uuid)]
	if len(claims) == 0 {
		return "", "", false
	}
	return claims[0], g.nodes.entries[claims[0]].role, true
}

// nodes are the Nodes of the cluster, and the UUIDs by which they have their VMs. The zero value is ready.
type nodes struct {
	entries map[string]entry
	claims  map[string][]string // names of nodes, by UUID: of several, the first has it
}

type entry struct {
	role topology.Role
	ids  []string
}

// set says what a Node is like, and returns the UUIDs that this is news for.
func (t *nodes) set(name string, is entry) (touched []string) {
	was, known := t.entries[name]
	if known && was.role == is.role && slices.Equal(was.ids, is.ids) {
		return nil
	}
	if t.entries == nil {
		t.entries, t.claims = map[string]entry{}, map[string][]string{}
	}
	t.drop(name)
	t.entries[name] = is
	for _, id := range is.ids {
		t.claims[id] = append(t.claims[id], name)
	}
	return append(slices.Clone(is.ids), was.ids...)
}

// drop forgets a Node, and returns the UUIDs that it had.
func (t *nodes) drop(name string) []string {
	ids := t.entries[name].ids
	for _, id := range ids {
		left := slices.DeleteFunc(slices.Clone(t.claims[id]), func(n string) bool { return n == name })
		if t.claims[id] = left; len(left) == 0 {
			delete(t.claims, id)
		}
	}
	delete(t.entries, name)
	return ids
}

// uuidsOf returns the UUID by which a Node has its VM, in both byte orders. A Node of another cloud has none.
func uuidsOf(n *corev1.Node) []string {
	u, err := kubenode.Facts(n).UUID()
	if err != nil {
		return nil
	}
	return []string{u.String(), u.Swapped().String()}
}

// guard refuses what would harm the cluster, or cannot be because of rights.
func (g *Ground) guard(ctx context.Context) error {
	if err := g.cluster.MayWatch(ctx); err != nil {
		return err
	}
	nodes, err := g.cluster.Nodes(ctx)
	if err != nil {
		return err
	}
	stray := strays(nodes, g.Topology)
	if g.ReadOnly {
		g.noteStrays(stray, len(nodes))
		return nil
	}
	if err := g.cluster.CheckDirectAccess(); err != nil {
		return err
	}
	objects, err := g.objects()
	if err != nil {
		return err
	}
	if err := g.cluster.CheckRights(ctx, objects, append(g.extra(), existing.GuardRights(g.AllowController)...)...); err != nil {
		return err
	}
	if err := g.cluster.GuardOutside(ctx, g.Name, g.AllowController); err != nil {
		return err
	}
	if len(stray) > 0 {
		return endangered(stray)
	}
	return nil
}

// strays are the names of Nodes of which the provider would find none of the topology's VMs.
func strays(nodes []corev1.Node, top *topology.Topology) []string {
	var chosen match.List[match.VM]
	for r := range top.AllVMs() {
		chosen.VMs = append(chosen.VMs, existing.VMOf(r))
	}
	var names []string
	for i := range nodes {
		switch match.Find(kubenode.Facts(&nodes[i]), chosen, match.Behavior{}).Reason {
		case match.Found, match.Ambiguous:
		default:
			names = append(names, nodes[i].Name)
		}
	}
	return names
}

func endangered(stray []string) error {
	return &coded.Error{
		Code:    existing.CodeNodes,
		Message: fmt.Sprintf("a cloud controller manager deletes Nodes whose VM it does not find, and these have none among the chosen VMs: %s", shorten.List(stray, 5)),
		Try: "choose their VMs, too: --folder, --vm, --tag, or all by leaving these out\n" +
			"leave --ccm out   # the sandbox then only watches\n" +
			"vsphere-sandbox doctor --vcenter-config FILE --kubeconfig FILE   # which VM each node is",
	}
}

// noteStrays says which Nodes are shown without a VM. That all are may well be a context that was not meant.
func (g *Ground) noteStrays(stray []string, all int) {
	if len(stray) == 0 {
		return
	}
	text := "nodes whose VM is none of the chosen ones: " + shorten.List(stray, 5)
	if len(stray) == all {
		text = fmt.Sprintf("no node of the cluster of context %q is one of the chosen VMs: %s", g.cluster.Context(), shorten.List(stray, 5))
	}
	g.Log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Warning, Kind: "nodes.without-vm", Message: text})
}

// objects are all that will be made in the cluster, without what is in them: for the question whether the user may.
func (g *Ground) objects() ([]*unstructured.Unstructured, error) {
	made := append(g.Host.CCMObjects(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.namespace()}})
	var list []*unstructured.Unstructured
	for _, o := range made {
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			return nil, err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(kinds[0])
		list = append(list, u)
	}
	return list, nil
}

// extra are rights that no object implies: to have tokens made, to follow what was made, to take roles back.
func (g *Ground) extra() []authorizationv1.ResourceAttributes {
	in := g.namespace()
	return []authorizationv1.ResourceAttributes{
		{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: in},
		{Verb: "watch", Resource: "configmaps", Namespace: in},
		{Verb: "watch", Resource: "secrets", Namespace: in},
		{Verb: "list", Group: rbacv1.GroupName, Resource: "roles"},
		{Verb: "list", Group: rbacv1.GroupName, Resource: "rolebindings"},
	}
}
