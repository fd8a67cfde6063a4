package lab

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// atOnce is how many requests of all kubelets together are under way at a time.
const atOnce = 16

// Kubelets stands for the kubelets of many nodes: it registers them as kubelets with --cloud-provider=external do and
// renews their leases. It follows the power of their VMs through the vSphere API: one whose VM is off says nothing more,
// and one whose VM is on again reports itself ready. Its methods may be called from any goroutine.
type Kubelets struct {
	l *Lab

	mu    sync.Mutex
	nodes map[string]*kubelet
	on    map[string]bool // power by BIOS UUID, as the vCenters reported it last
}

// kubelet is one node's.
type kubelet struct {
	name, uuid string
	lease      *coordinationv1.Lease // as it was last written
	hung       bool                  // says nothing though the VM is on
}

func newKubelets(l *Lab) *Kubelets {
	k := &Kubelets{l: l, nodes: map[string]*kubelet{}, on: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	l.t.Cleanup(func() { cancel(); running.Wait() })
	running.Go(func() { k.beat(ctx, l.speed.Of(pace.NodeMonitorGracePeriod)/4) })
	for _, v := range l.VCenters() {
		known := make(chan struct{})
		heard := sync.OnceFunc(func() { close(known) })
		running.Go(func() {
			defer heard()
			if err := k.followPower(ctx, l.operators[v.Name()].client, heard); err != nil && ctx.Err() == nil {
				l.t.Errorf("power of the VMs of %s: %v", v.Name(), err)
			}
		})
		<-known
	}
	return k
}

// Register creates the Nodes of machines, all at once, and begins to send their heartbeats.
func (k *Kubelets) Register(machines ...*Machine) {
	k.l.t.Helper()
	k.RegisterAs(func(*corev1.Node) {}, machines...)
}

// RegisterAs is Register with a last word on each Node before it is created: another system UUID, a providerID, an address
// that was given to the kubelet. edit is called from several goroutines at once.
func (k *Kubelets) RegisterAs(edit func(*corev1.Node), machines ...*Machine) {
	k.l.t.Helper()
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, m := range machines {
		g.Go(func() error { return k.register(k.l.t.Context(), m, edit) })
	}
	if err := g.Wait(); err != nil {
		k.l.t.Fatal(err)
	}
}

func (k *Kubelets) register(ctx context.Context, m *Machine, edit func(*corev1.Node)) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: map[string]string{corev1.LabelHostname: m.Name}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		}},
	}
	node.Status.NodeInfo.SystemUUID = m.UUID
	node.Status.Conditions = ready(corev1.ConditionTrue)
	edit(node)
	if _, err := k.l.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	lease, err := k.createLease(ctx, node.Name)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nodes[node.Name] = &kubelet{name: node.Name, uuid: m.UUID, lease: lease}
	return nil
}

// Registered returns the names of all nodes that were ever registered, sorted.
func (k *Kubelets) Registered() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := make([]string, 0, len(k.nodes))
	for name := range k.nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Hang stops the kubelets of nodes: their VMs stay on, and the node monitor finds out after its grace period.
func (k *Kubelets) Hang(names ...string) {
	for _, name := range names {
		k.set(name, func(n *kubelet) { n.hung = true })
	}
}

// Fail is Hang, or the power cut, with the verdict of the node monitor at once: the Ready condition is Unknown.
func (k *Kubelets) Fail(ctx context.Context, names ...string) error {
	k.Hang(names...)
	return k.report(ctx, corev1.ConditionUnknown, names)
}

// Revive lets the kubelets of nodes run again.
func (k *Kubelets) Revive(ctx context.Context, names ...string) error {
	for _, name := range names {
		k.set(name, func(n *kubelet) { n.hung = false })
	}
	return k.report(ctx, corev1.ConditionTrue, names)
}

func (k *Kubelets) set(name string, to func(*kubelet)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := k.nodes[name]; n != nil {
		to(n)
	}
}

// report writes the Ready conditions of nodes. Nodes that are gone are passed over.
func (k *Kubelets) report(ctx context.Context, status corev1.ConditionStatus, names []string) error {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, name := range names {
		g.Go(func() error {
			err := k.writeStatus(ctx, name, status)
			if apierrors.IsNotFound(err) {
				err = nil
			}
			return err
		})
	}
	return g.Wait()
}
