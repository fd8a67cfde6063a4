package upstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// topologyText is 200 VMs in two datacenters of two zones each.
const topologyText = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: churn}
spec:
  vcenters:
  - name: vc
    datacenters:
    - name: west
      region: us-west
      clusters:
      - {name: w1, zone: us-west-1, hosts: [{name: "w1-{n}", replicas: 4}]}
      - {name: w2, zone: us-west-2, hosts: [{name: "w2-{n}", replicas: 4}]}
      vms:
      - {name: "w1-{nnn}", replicas: 50, cluster: w1, role: worker}
      - {name: "w2-{nnn}", replicas: 50, cluster: w2, role: worker}
    - name: east
      region: us-east
      clusters:
      - {name: e1, zone: us-east-1, hosts: [{name: "e1-{n}", replicas: 4}]}
      - {name: e2, zone: us-east-2, hosts: [{name: "e2-{n}", replicas: 4}]}
      vms:
      - {name: "e1-{nnn}", replicas: 50, cluster: e1, role: worker}
      - {name: "e2-{nnn}", replicas: 50, cluster: e2, role: worker}
`

// machine is a VM with its node.
type machine struct {
	name, uuid, region, zone string
	vm                       *object.VirtualMachine
}

// TestChurn: an unmodified release initializes the nodes of 200 VMs, and while VMs go off and on and tags come and go it
// logs no error that the churn does not explain, loses no node, and taints exactly the nodes whose VM is off.
func TestChurn(t *testing.T) {
	cpi := release(t, cloudProvider)
	w := newWorld(t, topologyText)
	k := &kubelets{w: w, on: map[string]bool{}}
	machines := w.machines()
	for _, m := range machines {
		if err := k.register(t.Context(), m.name, m.uuid); err != nil {
			t.Fatal(err)
		}
	}
	g, ctx := errgroup.WithContext(t.Context())
	beating, stop := context.WithCancel(ctx)
	g.Go(func() error { return k.beat(beating) })

	started := time.Now()
	log := w.startCPI(cpi, []string{"west", "east"})
	w.await(ctx, "every node is initialized", 10*time.Minute, func(nodes []corev1.Node) string {
		for _, n := range nodes {
			if hasTaint(n, uninitializedTaint) || n.Spec.ProviderID == "" {
				return n.Name + " is not"
			}
		}
		return ""
	})
	t.Logf("%d nodes initialized in %s", len(machines), time.Since(started).Round(time.Second))
	for _, m := range machines {
		n, err := w.cluster.Client().CoreV1().Nodes().Get(ctx, m.name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r, z := n.Labels[corev1.LabelTopologyRegion], n.Labels[corev1.LabelTopologyZone]; r != m.region || z != m.zone {
			t.Errorf("node %s is in %s/%s, want %s/%s", m.name, r, z, m.region, m.zone)
		}
		if want := "vsphere://" + m.uuid; n.Spec.ProviderID != want {
			t.Errorf("node %s has providerID %s, want %s", m.name, n.Spec.ProviderID, want)
		}
	}

	deleted := w.watchDeletions(ctx)
	off := &history{}
	churn, end := context.WithTimeout(ctx, *churnFor)
	defer end()
	g.Go(func() error { return w.churnPower(churn, k, machines, off) })
	g.Go(func() error { return w.churnTags(churn) })
	<-churn.Done()

	// Everything is on again now, or will be in a moment: all taints have to go, upstream looks every few seconds.
	w.await(ctx, "no node is tainted or not ready", 5*time.Minute, func(nodes []corev1.Node) string {
		for _, n := range nodes {
			if hasTaint(n, shutdownTaint) {
				return n.Name + " has the shutdown taint"
			}
		}
		return ""
	})
	stop()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if gone := deleted(); len(gone) > 0 {
		t.Errorf("nodes were deleted though no VM was: %v", gone)
	}
	w.explain(log, off)
	w.dump()
}

func (w *world) machines() []machine {
	w.t.Helper()
	finder := find.NewFinder(w.client.Client, true)
	var all []machine
	for ref := range w.spec.AllVMs() {
		vm, err := finder.VirtualMachine(w.t.Context(), ref.InventoryPath())
		if err != nil {
			w.t.Fatal(err)
		}
		p := w.spec.Place(ref)
		all = append(all, machine{name: ref.VM.Hostname, uuid: ref.VM.UUID, region: p.Region, zone: p.Zone, vm: vm})
	}
	return all
}

// await watches nodes until ok has no complaint.
func (w *world) await(ctx context.Context, what string, atMost time.Duration, complaint func([]corev1.Node) string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	last := ""
	for {
		list, err := w.cluster.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			w.t.Fatalf("waiting until %s: %v; %s", what, err, last)
		}
		if last = complaint(list.Items); last == "" {
			return
		}
		changes, err := w.cluster.Client().CoreV1().Nodes().Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			w.t.Fatalf("waiting until %s: %v; %s", what, err, last)
		}
		select {
		case <-changes.ResultChan():
		case <-ctx.Done():
		}
		changes.Stop()
		if ctx.Err() != nil {
			w.dump()
			w.t.Fatalf("not within %s: %s; %s", atMost, what, last)
		}
	}
}

// dump prints the state for debugging.
func (w *world) dump() {
	log, _ := os.ReadFile(w.dir + "/cpi.log")
	w.t.Logf("end of the release's log:\n%s", lab.Tail(log, 6000))
	for _, s := range w.vcenter.Gate().Stats() {
		w.t.Logf("%6d calls %4d errors %s %s", s.Calls, s.Errors, s.Method, s.Client)
	}
}

func hasTaint(n corev1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

func (w *world) watchDeletions(ctx context.Context) func() []string {
	w.t.Helper()
	changes, err := w.cluster.Client().CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var gone []string
	var following sync.WaitGroup
	following.Go(func() {
		for c := range changes.ResultChan() {
			if n, ok := c.Object.(*corev1.Node); ok && c.Type == watch.Deleted {
				gone = append(gone, n.Name)
			}
		}
	})
	return func() []string {
		changes.Stop()
		following.Wait()
		return gone
	}
}

// churnPower keeps some twenty VMs off, each for one to two minutes: long enough for its node to be noticed.
func (w *world) churnPower(ctx context.Context, k *kubelets, machines []machine, off *history) error {
	random := rand.New(rand.NewPCG(1, 2))
	var g errgroup.Group
	g.SetLimit(20)
	busy := map[string]bool{}
	var mu sync.Mutex
	for ctx.Err() == nil {
		m := machines[random.IntN(len(machines))]
		rest := time.Minute + time.Duration(random.Int64N(int64(time.Minute)))
		mu.Lock()
		taken := busy[m.name]
		busy[m.name] = true
		mu.Unlock()
		if taken {
			continue
		}
		g.Go(func() error { // waits for a free place
			defer func() { mu.Lock(); delete(busy, m.name); mu.Unlock() }()
			from := time.Now()
			if err := w.powerCycle(ctx, k, m, rest); err != nil {
				return fmt.Errorf("VM %s: %w", m.name, err)
			}
			off.add(m.name, span{from, time.Now()})
			return nil
		})
	}
	return g.Wait()
}

// powerCycle powers a VM off for a while, or until ctx ends, and on again in any case.
func (w *world) powerCycle(ctx context.Context, k *kubelets, m machine, rest time.Duration) error {
	always := context.WithoutCancel(ctx)
	if err := finish(always)(m.vm.PowerOff(always)); err != nil {
		return err
	}
	if err := k.power(always, m.name, false); err != nil {
		return err
	}
	select {
	case <-time.After(rest):
	case <-ctx.Done():
	}
	if err := finish(always)(m.vm.PowerOn(always)); err != nil {
		return err
	}
	return k.power(always, m.name, true)
}

func finish(ctx context.Context) func(*object.Task, error) error {
	return func(t *object.Task, err error) error {
		if err != nil {
			return err
		}
		return t.Wait(ctx)
	}
}

// churnTags moves the zone tags of hosts' clusters away and back, and makes and deletes other tags.
func (w *world) churnTags(ctx context.Context) error {
	finder := find.NewFinder(w.client.Client, true)
	clusters, err := finder.ClusterComputeResourceList(ctx, "/*/host/*")
	if err != nil {
		return err
	}
	category, err := w.tags.GetCategory(ctx, "k8s-zone")
	if err != nil {
		return err
	}
	for i := 0; ctx.Err() == nil; i++ {
		if err := w.moveTag(context.WithoutCancel(ctx), clusters[i%len(clusters)], category.ID, fmt.Sprintf("passing-%d", i)); err != nil {
			return fmt.Errorf("tags: %w", err)
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

func (w *world) moveTag(ctx context.Context, c *object.ClusterComputeResource, category, name string) error {
	had, err := w.tags.GetAttachedTags(ctx, c)
	if err != nil {
		return err
	}
	id, err := w.tags.CreateTag(ctx, &tags.Tag{Name: name, CategoryID: category})
	if err != nil {
		return err
	}
	for _, tag := range had {
		if err := w.tags.DetachTag(ctx, tag.ID, c); err != nil {
			return err
		}
	}
	if err := w.tags.AttachTag(ctx, id, c); err != nil {
		return err
	}
	if err := w.tags.DetachTag(ctx, id, c); err != nil {
		return err
	}
	for _, tag := range had {
		if err := w.tags.AttachTag(ctx, tag.ID, c); err != nil {
			return err
		}
	}
	return w.tags.DeleteTag(ctx, &tags.Tag{ID: id})
}
