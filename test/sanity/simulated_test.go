package sanity

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	driver "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/migrated"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/hollow"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// zoned is a vCenter with two zones, the node in one of them. Its VMs take no more disks than the driver says that a node does:
// those of release 8 take more, and then the limit is the scheduler's alone.
const zoned = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: sanity}
spec:
  vcenters:
    - name: us
      version: 7.0.3
      datacenters:
        - name: dc
          region: us
          clusters:
            - {name: west, zone: us-west, hosts: [{name: h1}]}
            - {name: east, zone: us-east, hosts: [{name: h2}]}
          datastores:
            - {name: ds-west, clusters: [west], capacity: 1Ti}
            - {name: ds-east, clusters: [east], capacity: 1Ti}
          vms:
            - {name: node-1, role: worker, cluster: west, hostname: node-1, uuid: ` + nodeID + `}
            - {name: node-2, role: worker, cluster: east, hostname: node-2}
`

// onSimulation is a driver over a simulated vCenter, with all that belongs to it, and the service of a hollow node.
func onSimulation(t *testing.T) *grpc.ClientConn {
	lab := sim.Start(t, zoned)
	log := logger(t)
	k8s := &driver.Kubernetes{
		Client: fake.NewClientset(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
			Spec:       corev1.NodeSpec{ProviderID: "vsphere://" + nodeID},
		}),
		Dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{
				nodetopology.Resource(): "CSINodeTopologyList", migrated.Resource(): "CnsVSphereVolumeMigrationList",
			}),
	}
	e, err := driver.NewEngine(t.Context(), driver.Options{
		Config:     config.Options{File: lab.CloudConfigFile(), ReadOptions: config.ReadOptions{ClusterID: "sanity"}, UserAgent: driver.UserAgent},
		Kubernetes: k8s, Logger: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	byID := t.TempDir()
	t.Cleanup(follow(t, lab, byID))
	b, err := hollow.New(hollow.Options{ByIDDir: byID, StateDir: t.TempDir(), Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := e.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return serveOn(t, e.Controller, node.Options{
		NodeID: nodeID, Backend: b,
		Topology: func(ctx context.Context) (map[string]string, error) {
			return nodetopology.Request(ctx, k8s.Dynamic, "node-1", nodeID, nil)
		},
	})
}

// follow keeps the by-id folder of the node's VM, until stop is called: what the hollow node does in a sandbox.
func follow(t *testing.T, lab *sim.Lab, byID string) (stop func()) {
	vc, ok := lab.VCenter("us")
	if !ok {
		t.Fatal("no vCenter us")
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		there := map[string]string{}
		for after := uint64(0); ; {
			events, _, err := lab.Events.Wait(ctx, after, 1000)
			if err != nil {
				return
			}
			if len(events) > 0 {
				after = events[len(events)-1].Seq
			}
			want := map[string]string{}
			for _, v := range vc.Volumes() {
				if v.VMName == "node-1" {
					want[names.DeviceLink(v.DiskUUID)] = vc.VolumeDir(v.ID)
				}
			}
			if maps.Equal(want, there) {
				continue
			}
			for name := range there {
				if want[name] == "" {
					_ = os.Remove(filepath.Join(byID, name))
				}
			}
			for name, to := range want {
				if there[name] == "" {
					if err := os.Symlink(to, filepath.Join(byID, name)); err != nil {
						t.Error(err)
					}
				}
			}
			there = want
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
