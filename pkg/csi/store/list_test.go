package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// A listing has only this cluster's volumes of all vCenters, by pages, and their attachments to nodes.
func TestList(t *testing.T) {
	r := start(t, two)
	ctx := t.Context()
	n, gone := r.node("us", "vm-1"), r.node("us", "vm-2")
	eu := r.node("eu", "vm-1")
	var want []volume.Attached
	for i := range 5 {
		v := r.create("us", fmt.Sprintf("pvc-us-%d", i))
		if i < 3 {
			uuid, err := r.Attach(ctx, v.ID, n)
			r.must(err)
			want = append(want, volume.Attached{Volume: v.ID, Node: n, DiskUUID: uuid})
		}
	}
	v := r.create("eu", "pvc-eu")
	uuid, err := r.Attach(ctx, v.ID, eu)
	r.must(err)
	want = append(want, volume.Attached{Volume: v.ID, Node: eu, DiskUUID: uuid})

	for _, a := range want {
		on, err := r.Attachments(ctx, a.Volume)
		if diff := cmp.Diff([]volume.Attached{a}, on); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}

	foreign := r.open(func(o *store.Options) { o.Cluster.ID = "cluster-2" })
	theirs, err := foreign.Create(ctx, r.spec("us", "pvc-us-0")) // another cluster may use the same name
	r.must(err)
	_, err = foreign.Attach(ctx, theirs.ID, n)
	r.must(err)

	r.mu.Lock()
	for i := range r.nodes {
		if r.nodes[i].Name == gone.Name && r.nodes[i].VCenter == "us" {
			r.nodes[i].VM = "vm-99999"
		}
	}
	r.mu.Unlock()
	paged := r.open(func(o *store.Options) { o.Page = 2 })
	for name, s := range map[string]*store.Store{"at once": r.Store, "by pages": paged} {
		listed, attached, err := s.Volumes(ctx)
		if err != nil || len(listed) != 6 {
			t.Errorf("%s: %d volumes, %v", name, len(listed), err)
		}
		for i, v := range listed {
			if i > 0 && listed[i-1].ID >= v.ID || v.ID == theirs.ID || !v.Healthy || v.Capacity != gib || v.DatastoreURL == "" {
				t.Errorf("%s: %+v", name, v)
			}
		}
		less := func(a, b volume.Attached) bool { return a.Volume < b.Volume }
		if diff := cmp.Diff(sorted(want, less), attached); diff != "" {
			t.Errorf("%s: attached (-want +got):\n%s", name, diff)
		}
	}
}

func sorted[T any](list []T, less func(a, b T) bool) []T {
	for i := range list {
		for j := i; j > 0 && less(list[j], list[j-1]); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return list
}

// A volume is as healthy as its datastore.
func TestHealth(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	v := r.create("us", "pvc-1")
	on := types.ManagedObjectReference{Type: "Datastore", Value: r.datastores("us")[0].Ref}
	healthy := func() bool { found, err := r.Volume(ctx, v.ID); return err == nil && found.Healthy }
	r.must(r.vc("us").Hosts().LoseDatastore(ctx, on))
	eventually(t, "not healthy", func() bool { return !healthy() })
	r.must(r.vc("us").Hosts().RestoreDatastore(ctx, on))
	eventually(t, "healthy", healthy)
}

// A volume has the requested policy.
func TestPolicy(t *testing.T) {
	r := start(t, one)
	for _, p := range r.vc("us").Policies() {
		if len(p.Datastores) == 0 {
			continue
		}
		spec := r.spec("us", "pvc-"+p.Name)
		spec.Policy = p.ID
		v, err := r.Create(t.Context(), spec)
		r.must(err)
		if found, err := r.Volume(t.Context(), v.ID); err != nil || p.ID == "" || found.Policy != p.ID {
			t.Errorf("%s: policy %q, %v", p.Name, found.Policy, err)
		}
	}
}

// CNS stores the cluster, the user and the objects.
func TestMetadata(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	spec := r.spec("us", "pvc-1")
	spec.Metadata = volume.Metadata{PV: "pv-1", PVC: "data", Namespace: "default"}
	v, err := r.Create(ctx, spec)
	r.must(err)
	r.metadataOf(v.ID, "PERSISTENT_VOLUME /pv-1", "PERSISTENT_VOLUME_CLAIM default/data of pv-1")
	labeled := volume.Metadata{PV: "pv-1", PVC: "data", Namespace: "default", Labels: map[string]string{"app": "db"}}
	pod := volume.Entity{
		EntityRef: volume.EntityRef{Kind: volume.Pod, Namespace: "default", Name: "db-0"},
		Refers:    volume.EntityRef{Kind: volume.PVC, Namespace: "default", Name: "data"},
	}
	r.must(r.UpdateRecord(ctx, v.ID, append(labeled.Entities(), pod), nil))
	r.metadataOf(v.ID, "PERSISTENT_VOLUME /pv-1 app=db", "PERSISTENT_VOLUME_CLAIM default/data of pv-1", "POD default/db-0 of data")
	now, err := r.Volume(ctx, v.ID) // with the file of its disk
	r.must(err)
	records, err := r.Records(ctx)
	r.must(err)
	if diff := cmp.Diff([]volume.Record{{Volume: now, Entities: append(labeled.Entities(), pod)}}, records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	r.must(r.UpdateRecord(ctx, v.ID, nil, []volume.Entity{pod}))
	r.metadataOf(v.ID, "PERSISTENT_VOLUME /pv-1 app=db", "PERSISTENT_VOLUME_CLAIM default/data of pv-1")
}

// A first-class disk of any vCenter becomes a volume with its content, and can then be attached; again, it is the same volume.
func TestAdopt(t *testing.T) {
	r := start(t, two)
	ctx := t.Context()
	ds := types.ManagedObjectReference{Type: "Datastore", Value: r.spec("eu", "").Datastores[0].Ref}
	task, err := vslm.NewObjectManager(r.lab.Client("eu").Client).CreateDisk(ctx, types.VslmCreateSpec{
		Name: "mine", CapacityInMB: 1024,
		BackingSpec: &types.VslmCreateSpecDiskFileBackingSpec{VslmCreateSpecBackingSpec: types.VslmCreateSpecBackingSpec{Datastore: ds}},
	})
	r.must(err)
	info, err := task.WaitForResult(ctx)
	r.must(err)
	id := info.Result.(types.VStorageObject).Config.Id.Id
	if _, err := r.Volume(ctx, id); !errors.Is(err, volume.ErrNotFound) {
		t.Fatalf("before: %v", err)
	}
	for range 2 {
		v, err := r.Adopt(ctx, id, "pv-1", volume.Metadata{PV: "pv-1"}.Entities())
		r.must(err)
		if v.ID != id || v.VCenter != "eu" || v.Capacity != gib {
			t.Errorf("%+v", v)
		}
	}
	if _, err := r.Adopt(ctx, "5b2c9f1e-0000-4000-8000-000000000000", "x", volume.Metadata{PV: "x"}.Entities()); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("no disk: %v", err)
	}
}

// metadataOf compares CNS's metadata of a volume.
func (r *rig) metadataOf(id string, want ...string) {
	r.t.Helper()
	t, ctx := r.t, r.t.Context()
	c, err := cns.NewClient(ctx, r.lab.Client("us").Client)
	r.must(err)
	found, err := c.QueryVolume(ctx, &cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{{Id: id}}})
	r.must(err)
	if len(found.Volumes) != 1 {
		t.Fatalf("%d volumes", len(found.Volumes))
	}
	md := found.Volumes[0].Metadata
	if md.ContainerCluster.ClusterId != cluster || md.ContainerCluster.ClusterFlavor != "VANILLA" || md.ContainerCluster.ClusterDistribution != "test" || md.ContainerCluster.VSphereUser == "" {
		t.Errorf("cluster: %+v", md.ContainerCluster)
	}
	var said []string
	for _, e := range md.EntityMetadata {
		k := e.(*cnstypes.CnsKubernetesEntityMetadata)
		line := k.EntityType + " " + k.Namespace + "/" + k.EntityName
		for _, l := range k.Labels {
			line += " " + l.Key + "=" + l.Value
		}
		for _, to := range k.ReferredEntity {
			line += " of " + to.EntityName
		}
		said = append(said, line)
	}
	if diff := cmp.Diff(want, sorted(said, func(a, b string) bool { return a < b })); diff != "" {
		t.Errorf("entities (-want +got):\n%s", diff)
	}
}

// Everything is counted with its result.
func TestOperations(t *testing.T) {
	r := start(t, one)
	n := r.node("us", "vm-1")
	v := r.create("us", "pvc-1")
	_, _ = r.Attach(t.Context(), v.ID, n)
	_ = r.Delete(t.Context(), v.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	var said []string
	for _, op := range r.done {
		said = append(said, op.VCenter+" "+op.Name+" "+op.Result)
	}
	if diff := cmp.Diff([]string{"us create ok", "us attach ok", " delete in-use"}, said); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}
