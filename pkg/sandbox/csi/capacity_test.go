package csi

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/await"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// clusterOf is a cluster with a client alone.
type clusterOf struct {
	cluster.Cluster
	client kubernetes.Interface
}

func (c clusterOf) Client() kubernetes.Interface { return c.client }

// A boot waits until each StorageClass that waits for a pod has a CSIStorageCapacity for the zone of each node that takes volumes, and
// for no others.
func TestAwaitCapacities(t *testing.T) {
	const zone = names.TopologyPrefix + "k8s-zone"
	capacity := func(name, class, where string) *storagev1.CSIStorageCapacity {
		return &storagev1.CSIStorageCapacity{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: objects.DefaultNamespace}, StorageClassName: class,
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{zone: where}},
		}
	}
	var existing []runtime.Object
	for name, where := range map[string]string{"a-1": "a", "a-2": "a", "b-1": "b", "off-1": "c", "light-1": ""} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}}}
		if where != "" {
			n.Labels[zone] = where
		}
		existing = append(existing, n)
	}
	for _, class := range objects.StorageClasses(objects.Config{Policies: []string{"gold"}}) {
		existing = append(existing, class)
	}
	other := objects.StorageClasses(objects.Config{})[0].DeepCopy()
	other.Name, other.Provisioner = "other", "hostpath.csi.k8s.io"
	client := fake.NewClientset(append(existing, other)...)
	watched := make(chan struct{}, 1)
	client.PrependWatchReactor("csistoragecapacities", func(a clienttesting.Action) (bool, apiwatch.Interface, error) {
		w, err := client.Tracker().Watch(a.GetResource(), a.GetNamespace())
		watched <- struct{}{}
		return true, w, err
	})

	d := newDriver(t)
	top, err := scenarios.Load("zones-us-eu")
	if err != nil {
		t.Fatal(err)
	}
	d.Topology, d.nodes = top, map[string]bool{"a-1": true, "a-2": true, "b-1": true}
	d.Cluster = func() cluster.Cluster { return clusterOf{client: client} }
	d.Waiter = &await.Waiter{Timeout: time.Minute, Detail: func(string) {}}
	done := make(chan error, 1)
	go func() { done <- d.awaitCapacities(t.Context()) }()
	<-watched
	for _, c := range []*storagev1.CSIStorageCapacity{
		capacity("1", objects.DefaultClass, "a"), capacity("2", objects.DefaultClass, "b"), capacity("3", "vsphere-gold", "a"), capacity("4", "vsphere-gold", "b"),
	} {
		select {
		case err := <-done:
			t.Fatalf("before object %s: %v", c.Name, err)
		default:
		}
		if _, err := client.StorageV1().CSIStorageCapacities(c.Namespace).Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	// An object that does not come is named. This client begins a watch without the objects that exist.
	d.Waiter.Timeout = 50 * time.Millisecond
	if err := d.awaitCapacities(t.Context()); err == nil || !strings.Contains(err.Error(), "4 CSIStorageCapacity objects") || !strings.Contains(err.Error(), objects.DefaultClass+" and "+zone+"=a") {
		t.Error(err)
	}
	// A driver that publishes none is not waited for.
	d.running.Program.Path = "/bin/theirs"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.awaitCapacities(ctx); err != nil {
		t.Error(err)
	}
}
