package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vsan"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const fileServices = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: files}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          clusters:
            - {name: with, vsan: {fileService: true}, hosts: [{name: h1}]}
            - {name: without, hosts: [{name: h2}]}
          datastores:
            - {name: vsan-with, type: vsan, clusters: [with]}
            - {name: vsan-without, type: vsan, clusters: [without]}
`

// A topology enables the file service of a cluster: clients read that from the vSAN API, and CNS makes file shares on its vSAN
// datastore, and on no other.
func TestFileService(t *testing.T) {
	lab := sim.Start(t, fileServices)
	ctx, client := t.Context(), lab.Client("vc").Client
	finder := find.NewFinder(client)
	api, err := vsan.NewClient(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	volumes, err := cns.NewClient(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"with": true, "without": false} {
		cluster, err := finder.ClusterComputeResource(ctx, "/dc/host/"+name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := api.VsanClusterGetConfig(ctx, cluster.Reference())
		if err != nil {
			t.Fatal(err)
		}
		if got := info.FileServiceConfig != nil && info.FileServiceConfig.Enabled; got != want {
			t.Errorf("%s: file service %v", name, got)
		}
		ds, err := finder.Datastore(ctx, "/dc/datastore/vsan-"+name)
		if err != nil {
			t.Fatal(err)
		}
		details := new(cnstypes.CnsVsanFileShareBackingDetails)
		details.CapacityInMb = 10
		container := cnstypes.CnsContainerCluster{ClusterType: string(cnstypes.CnsClusterTypeKubernetes), ClusterId: "c", VSphereUser: "u", ClusterFlavor: string(cnstypes.CnsClusterFlavorVanilla)}
		task, err := volumes.CreateVolume(ctx, []cnstypes.CnsVolumeCreateSpec{{
			Name: name, VolumeType: string(cnstypes.CnsVolumeTypeFile), BackingObjectDetails: details, Datastores: []types.ManagedObjectReference{ds.Reference()},
			Metadata: cnstypes.CnsVolumeMetadata{ContainerCluster: container, ContainerClusterArray: []cnstypes.CnsContainerCluster{container}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		done, err := cns.GetTaskInfo(ctx, task)
		if err != nil {
			t.Fatal(err)
		}
		result, err := cns.GetTaskResult(ctx, done)
		if err != nil {
			t.Fatal(err)
		}
		if fault := result.GetCnsVolumeOperationResult().Fault; (fault == nil) != want {
			t.Errorf("%s: %+v", name, fault)
		}
	}
}
