package csi_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/migrated"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/syncer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const (
	gib  = int64(1) << 30
	us1  = "423a0000-0000-4000-8000-000000000001"
	us2  = "423a0000-0000-4000-8000-000000000002"
	eu1  = "423a0000-0000-4000-8000-000000000003"
	zone = "topology.csi.vmware.com/k8s-zone"
)

const twoVCenters = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
    - name: us
      datacenters:
        - name: dc
          region: us
          clusters:
            - {name: west, zone: us-west, hosts: [{name: h1}]}
            - {name: east, zone: us-east, hosts: [{name: h2}]}
          datastores:
            - {name: ds-west, clusters: [west]}
            - {name: ds-east, clusters: [east]}
          vms:
            - {name: us-1, role: worker, cluster: west, hostname: us-1, uuid: ` + us1 + `}
            - {name: us-2, role: worker, cluster: east, hostname: us-2, uuid: ` + us2 + `}
    - name: eu
      datacenters:
        - name: dc
          region: eu
          zone: eu-all
          clusters: [{name: c1, hosts: [{name: h3}]}]
          datastores: [{name: ds-eu}]
          vms: [{name: eu-1, role: worker, hostname: eu-1, uuid: ` + eu1 + `}]
`

// world is simulated vCenters and a fake API server, and an engine that uses them.
type world struct {
	*csi.Engine
	sim  *sim.Lab
	conf string // file
}

// fakeCluster has a Node for each VM that is one.
func fakeCluster() *csi.Kubernetes {
	var objects []runtime.Object
	for name, uuid := range map[string]string{"us-1": us1, "us-2": us2, "eu-1": eu1} {
		objects = append(objects, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "vsphere://" + uuid},
		})
	}
	return &csi.Kubernetes{
		Client: fake.NewClientset(objects...),
		Dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{
				nodetopology.Resource(): "CSINodeTopologyList", migrated.Resource(): "CnsVSphereVolumeMigrationList",
				syncer.Resource(): "TriggerCsiFullSyncList",
			}),
	}
}

func start(t *testing.T) *world {
	t.Helper()
	lab := sim.Start(t, twoVCenters)
	w := &world{sim: lab, conf: lab.CloudConfigFile()}
	e, err := csi.NewEngine(t.Context(), csi.Options{
		Config: config.Options{
			File: w.conf, ReadOptions: config.ReadOptions{ClusterID: "test"}, Period: 20 * time.Millisecond, UserAgent: csi.UserAgent,
			CallTimeout: 5 * time.Second, MaxWait: 5 * time.Second,
		},
		Kubernetes: fakeCluster(), Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Engine = e
	t.Cleanup(func() {
		e.Close()
		for _, name := range []string{"us", "eu"} {
			if n := w.sessions(t, name); n != 0 {
				t.Errorf("vcenter %s: %d sessions are left", name, n)
			}
		}
	})
	w.ready(t)
	return w
}

// ready waits until everything is in sync.
func (w *world) ready(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := w.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
}

// sessions returns the number of the engine's sessions at a vCenter.
func (w *world) sessions(t *testing.T, vcenter string) int {
	v, ok := w.sim.VCenter(vcenter)
	if !ok {
		t.Fatal("no vCenter " + vcenter)
	}
	n := 0
	for _, s := range v.Sessions() {
		if s.Client == csi.UserAgent {
			n++
		}
	}
	return n
}

func capability() *csiapi.VolumeCapability {
	return &csiapi.VolumeCapability{
		AccessMode: &csiapi.VolumeCapability_AccessMode{Mode: csiapi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csiapi.VolumeCapability_Mount{Mount: &csiapi.VolumeCapability_MountVolume{}},
	}
}

// volume creates a volume in a zone.
func (w *world) volume(ctx context.Context, name, region, in string) (*csiapi.Volume, error) {
	answer, err := w.Controller.CreateVolume(ctx, &csiapi.CreateVolumeRequest{
		Name: name, VolumeCapabilities: []*csiapi.VolumeCapability{capability()}, CapacityRange: &csiapi.CapacityRange{RequiredBytes: gib},
		AccessibilityRequirements: &csiapi.TopologyRequirement{Requisite: []*csiapi.Topology{
			{Segments: map[string]string{zone: in, "topology.csi.vmware.com/k8s-region": region}},
		}},
	})
	return answer.GetVolume(), err
}

func (w *world) publish(ctx context.Context, volume, node string) error {
	_, err := w.Controller.ControllerPublishVolume(ctx, &csiapi.ControllerPublishVolumeRequest{VolumeId: volume, NodeId: node, VolumeCapability: capability()})
	return err
}

// eventually waits until f returns nil.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatal(err)
		}
	}
}

func rewrite(t *testing.T, file string, change func(string) string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := change(string(data))
	if text == string(data) {
		t.Fatal("nothing to change in " + fmt.Sprint(text))
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
