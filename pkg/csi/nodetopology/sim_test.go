package nodetopology_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// The parts implement each other's interfaces.
var (
	_ nodetopology.Topology = (*nodes.Nodes)(nil)
	_ nodetopology.Labels   = (*nodes.Informer)(nil)
)

const twoZones = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
    - name: us
      datacenters:
        - name: west
          region: us
          clusters:
            - {name: a, zone: us-a, hosts: [{name: esx-a}]}
            - {name: b, zone: us-b, hosts: [{name: esx-b}]}
          vms: [{name: worker, cluster: a, uuid: 42010000-1c2d-4e5f-8071-92a3b4c5d601}]
`

// From the tags of a vCenter to the labels of a Node: a VM that moves to another zone moves its node there.
func TestMove(t *testing.T) {
	const (
		uuid   = "42010000-1c2d-4e5f-8071-92a3b4c5d601"
		region = "topology.csi.vmware.com/k8s-region"
	)
	worker := node("worker", nil)
	worker.Status.NodeInfo.SystemUUID = uuid
	r := newRig(t, worker)
	lab := sim.Start(t, twoZones)
	v := lab.VCenters()[0]
	client, err := vcenter.New(vcenter.Config{
		Name: v.Name(), Server: v.Host(), Port: v.Port(), CAFile: lab.CAFile, UserAgent: "nodetopology-test",
		Credentials: func(context.Context) (vcenter.Credentials, error) {
			return vcenter.Credentials{User: v.User(), Password: v.Password()}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	informer, err := nodes.NewInformer(r.client)
	if err != nil {
		t.Fatal(err)
	}
	n, err := nodes.New(nodes.Config{
		Cluster: informer, VCenters: []nodes.VCenter{{Client: client}},
		Categories: []nodes.Category{{Name: "k8s-region"}, {Name: "k8s-zone"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	controller := nodetopology.New(nodetopology.Config{
		Dynamic: r.dynamic, Client: r.client, Labels: informer, Topology: n, RetryMin: 20 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	for _, run := range []func(context.Context) error{client.Run, informer.Run, n.Run, controller.Run} {
		all.Go(func() { _ = run(ctx) })
	}

	r.expect(r.request("worker", uuid, worker), volume.Segment{region: "us", zone: "us-a"})
	// As the kubelet does.
	worker.Labels = map[string]string{region: "us", zone: "us-a"}
	if _, err := r.client.CoreV1().Nodes().Update(ctx, worker, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}

	c := lab.Client("us").Client
	element := func(path string) types.ManagedObjectReference {
		t.Helper()
		found, err := object.NewSearchIndex(c).FindByInventoryPath(ctx, path)
		if err != nil || found == nil {
			t.Fatalf("%s: %v", path, err)
		}
		return found.Reference()
	}
	host := element("/west/host/b/esx-b")
	pool, err := object.NewHostSystem(c, host).ResourcePool(ctx)
	if err != nil {
		t.Fatal(err)
	}
	poolRef := pool.Reference()
	task, err := object.NewVirtualMachine(c, element("/west/vm/worker")).Relocate(ctx,
		types.VirtualMachineRelocateSpec{Host: &host, Pool: &poolRef}, types.VirtualMachineMovePriorityDefaultPriority)
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.expectStatus("worker", nodetopology.Success, "us-b")
	eventually(t, "label of the node", func() error {
		var labels map[string]string
		if labels, _ = r.labels.Labels("worker"); labels[zone] != "us-b" || labels[region] != "us" {
			return fmt.Errorf("labels %v", labels)
		}
		return nil
	})
	r.expect(r.request("worker", uuid, &corev1.Node{ObjectMeta: worker.ObjectMeta}), volume.Segment{region: "us", zone: "us-b"})
}
