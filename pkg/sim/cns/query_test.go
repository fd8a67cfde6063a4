package cns_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// entity is a Kubernetes object of a cluster.
func entity(kind cnstypes.CnsKubernetesEntityType, namespace, name, cluster string, labels ...types.KeyValue) *cnstypes.CnsKubernetesEntityMetadata {
	return &cnstypes.CnsKubernetesEntityMetadata{
		CnsEntityMetadata: cnstypes.CnsEntityMetadata{EntityName: name, Labels: labels, ClusterID: cluster},
		EntityType:        string(kind), Namespace: namespace,
	}
}

func TestQueryFilters(t *testing.T) {
	var gold atomic.Pointer[vc.Ref]
	s := serve(t, 1, cns.Options{
		Compatible: func(policy string, on vc.Ref) bool { return policy != "gold" || on == *gold.Load() },
		URL:        func(ref types.ManagedObjectReference) string { return "ds:///" + ref.Value + "/" },
	})
	gold.Store(&s.datastores[0])
	a, b, c := spec("a", "one", 100, s.datastores[0]), spec("b", "one", 200, s.datastores[1]), spec("c", "two", 300, s.datastores[0])
	a.Metadata.EntityMetadata = []cnstypes.BaseCnsEntityMetadata{
		entity(cnstypes.CnsKubernetesEntityTypePV, "", "pv-a", "one", kv("app", "web"), kv("tier", "1")),
		entity(cnstypes.CnsKubernetesEntityTypePVC, "shop", "claim", "one"),
	}
	b.Metadata.EntityMetadata = []cnstypes.BaseCnsEntityMetadata{
		entity(cnstypes.CnsKubernetesEntityTypePV, "", "pv-b", "one", kv("app", "db")),
		entity(cnstypes.CnsKubernetesEntityTypePOD, "shop", "db-0", "one"),
	}
	a.Profile = []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: "gold"}}
	ids := map[string]string{"a": s.create(t, a), "b": s.create(t, b), "c": s.create(t, c)}
	task, err := s.cns.ReconfigVolumePolicy(t.Context(), []cnstypes.CnsVolumePolicyReconfigSpec{{
		VolumeId: cnstypes.CnsVolumeId{Id: ids["b"]},
		Profile:  []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: "silver"}},
	}})
	fine(t, only(t, task, err))

	id := func(names ...string) (list []cnstypes.CnsVolumeId) {
		for _, n := range names {
			list = append(list, cnstypes.CnsVolumeId{Id: ids[n]})
		}
		return list
	}
	for _, tc := range []struct {
		name   string
		filter cnstypes.BaseCnsQueryFilter
		want   []string
	}{
		{"all", &cnstypes.CnsQueryFilter{}, []string{"a", "b", "c"}},
		{"ids, in the volumes' order", &cnstypes.CnsQueryFilter{VolumeIds: append(id("c", "a"), cnstypes.CnsVolumeId{Id: "none"})}, []string{"a", "c"}},
		{"names", &cnstypes.CnsQueryFilter{Names: []string{"b", "x"}}, []string{"b"}},
		{"cluster", &cnstypes.CnsQueryFilter{ContainerClusterIds: []string{"two"}}, []string{"c"}},
		{"policy", &cnstypes.CnsQueryFilter{StoragePolicyId: "silver"}, []string{"b"}},
		{"label", &cnstypes.CnsQueryFilter{Labels: []types.KeyValue{kv("app", "web"), kv("app", "x")}}, []string{"a"}},
		{"datastore", &cnstypes.CnsQueryFilter{Datastores: s.datastores[:1]}, []string{"a", "c"}},
		{"compliant", &cnstypes.CnsQueryFilter{ComplianceStatus: "compliant"}, []string{"a", "b"}},
		{"no policy", &cnstypes.CnsQueryFilter{ComplianceStatus: "notApplicable"}, []string{"c"}},
		{"health", &cnstypes.CnsQueryFilter{HealthStatus: "green"}, []string{"a", "b", "c"}},
		{"accessibility", &cnstypes.CnsQueryFilter{DatastoreAccessibilityStatus: "notAccessible"}, []string{}},
		{"two conditions", &cnstypes.CnsQueryFilter{ContainerClusterIds: []string{"one"}, Datastores: s.datastores[:1]}, []string{"a"}},
		{"namespace", &cnstypes.CnsKubernetesQueryFilter{Namespaces: []string{"shop"}}, []string{"a", "b"}},
		{"pod", &cnstypes.CnsKubernetesQueryFilter{PodNames: []string{"db-0"}}, []string{"b"}},
		{"claim", &cnstypes.CnsKubernetesQueryFilter{PvcNames: []string{"claim"}}, []string{"a"}},
		{"persistent volume", &cnstypes.CnsKubernetesQueryFilter{PvNames: []string{"pv-b", "claim"}}, []string{"b"}},
		{"none", &cnstypes.CnsQueryFilter{ContainerClusterIds: []string{"three"}}, []string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := s.query(t, tc.filter)
			if diff := cmp.Diff(tc.want, names(got.Volumes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if total := int64(len(tc.want)); got.Cursor.TotalRecords != total || got.Cursor.Offset != total {
				t.Errorf("cursor %+v", got.Cursor)
			}
		})
	}

	got := s.query(t, &cnstypes.CnsQueryFilter{Names: []string{"a"}}).Volumes[0]
	backing, ok := got.BackingObjectDetails.(*cnstypes.CnsBlockBackingDetails)
	if !ok || backing.CapacityInMb != 100 || backing.BackingDiskId != ids["a"] {
		t.Errorf("backing %+v", got.BackingObjectDetails)
	}
	if got.DatastoreUrl != "ds:///"+s.datastores[0].Value+"/" || got.VolumeType != "BLOCK" || got.StoragePolicyId != "gold" ||
		got.DatastoreAccessibilityStatus != "accessible" || got.Metadata.ContainerCluster.ClusterId != "one" ||
		len(got.Metadata.ContainerClusterArray) != 1 || len(got.Metadata.EntityMetadata) != 2 {
		t.Errorf("%+v", got)
	}
	gold.Store(&s.datastores[1])
	if v := s.query(t, &cnstypes.CnsQueryFilter{ComplianceStatus: "nonCompliant"}).Volumes; len(v) != 1 || v[0].Name != "a" {
		t.Errorf("not compliant: %v", names(v))
	}
	if _, err := s.cns.QueryVolume(t.Context(), &cnstypes.CnsQueryFilter{Cursor: &cnstypes.CnsCursor{Offset: -1}}); !fault.Is(err, new(types.InvalidArgument)) {
		t.Errorf("a negative offset: %v", err)
	}
}

func TestQueryPages(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	const n = 130
	var want []string
	for i := range n {
		name := fmt.Sprintf("v%03d", n-i) // not in the order of ids or names
		s.create(t, spec(name, "one", 1))
		want = append(want, name)
	}
	for _, tc := range []struct {
		cursor *cnstypes.CnsCursor
		pages  []int
	}{
		{nil, []int{100, 30}},
		{&cnstypes.CnsCursor{Limit: 50}, []int{50, 50, 30}},
		{&cnstypes.CnsCursor{Limit: 65}, []int{65, 65}},
		{&cnstypes.CnsCursor{Limit: 10000}, []int{130}},
		{&cnstypes.CnsCursor{Offset: 120, Limit: 5}, []int{5, 5}},
		{&cnstypes.CnsCursor{Offset: 1000, Limit: 5}, []int{0}},
	} {
		var got []string
		var pages []int
		filter, from := cnstypes.CnsQueryFilter{Cursor: tc.cursor}, 0
		if tc.cursor != nil {
			from = min(int(tc.cursor.Offset), n)
		}
		for {
			task, err := s.cns.QueryVolumeAsync(t.Context(), filter, &cnstypes.CnsQuerySelection{Names: []string{string(cnstypes.QuerySelectionNameTypeVolumeName)}})
			r, ok := only(t, task, err).(*cnstypes.CnsAsyncQueryResult)
			if !ok {
				t.Fatal("not a CnsAsyncQueryResult")
			}
			pages = append(pages, len(r.QueryResult.Volumes))
			got = append(got, names(r.QueryResult.Volumes)...)
			if c := r.QueryResult.Cursor; c.TotalRecords != n {
				t.Fatalf("total %d", c.TotalRecords)
			} else if c.Offset == c.TotalRecords { // as upstream's driver ends its loop
				break
			}
			filter.Cursor = &r.QueryResult.Cursor
		}
		if diff := cmp.Diff(tc.pages, pages); diff != "" {
			t.Errorf("%+v: pages (-want +got):\n%s", tc.cursor, diff)
		}
		if diff := cmp.Diff(append([]string(nil), want[from:]...), got); diff != "" {
			t.Errorf("%+v: (-want +got):\n%s", tc.cursor, diff)
		}
	}
	all := must[*cnstypes.CnsQueryResult](t)(s.cns.QueryAllVolume(t.Context(), cnstypes.CnsQueryFilter{}, cnstypes.CnsQuerySelection{}))
	if len(all.Volumes) != n || all.Cursor.Offset != n {
		t.Errorf("all: %d, %+v", len(all.Volumes), all.Cursor)
	}
}

func TestQuerySelection(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id := s.create(t, spec("a", "one", 64))
	ask := func(names ...string) cnstypes.CnsVolume {
		t.Helper()
		r := must[*cnstypes.CnsQueryResult](t)(s.cns.QueryAllVolume(t.Context(), cnstypes.CnsQueryFilter{}, cnstypes.CnsQuerySelection{Names: names}))
		if len(r.Volumes) != 1 {
			t.Fatalf("%d volumes", len(r.Volumes))
		}
		return r.Volumes[0]
	}
	if diff := cmp.Diff(cnstypes.CnsVolume{VolumeId: cnstypes.CnsVolumeId{Id: id}}, ask()); diff != "" {
		t.Errorf("nothing selected (-want +got):\n%s", diff)
	}
	got := ask("BACKING_OBJECT_DETAILS", "DATASTORE_URL", "volumeType")
	if got.BackingObjectDetails.GetCnsBackingObjectDetails().CapacityInMb != 64 || got.DatastoreUrl == "" || got.VolumeType != "BLOCK" ||
		got.Name != "" || got.HealthStatus != "" || len(got.Metadata.ContainerClusterArray) != 0 {
		t.Errorf("%+v", got)
	}
	got = ask("VOLUME_NAME", "COMPLIANCE_STATUS", "DATASTORE_ACCESSIBILITY_STATUS", "HEALTH_STATUS", "POLICY_ID", "VOLUME_METADATA")
	if got.Name != "a" || got.ComplianceStatus != "notApplicable" || got.DatastoreAccessibilityStatus != "accessible" ||
		got.HealthStatus != "green" || got.Metadata.ContainerCluster.ClusterId != "one" || got.BackingObjectDetails != nil {
		t.Errorf("%+v", got)
	}
}

// TestQueryHealth loses a datastore from host to host.
func TestQueryHealth(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	s.create(t, spec("a", "one", 1, s.datastores[0]))
	ds := s.ctx.Map.Get(s.datastores[0]).(*simulator.Datastore)
	ctx := vc.Fresh(s.ctx)
	check := func(accessibility, health, compliance string) {
		t.Helper()
		v := s.query(t, &cnstypes.CnsQueryFilter{HealthStatus: health}).Volumes
		if len(v) != 1 || v[0].DatastoreAccessibilityStatus != accessibility || v[0].ComplianceStatus != compliance {
			t.Errorf("%+v, want %s %s %s", v, accessibility, health, compliance)
		}
	}
	check("accessible", "green", "notApplicable")
	for i, want := range []string{"partiallyAccessible", "partiallyAccessible", "notAccessible"} {
		ctx.WithLock(ds, func() {
			mounts := append([]types.DatastoreHostMount(nil), ds.Host...)
			mounts[i].MountInfo.Accessible = new(false)
			ds.Host = mounts
		})
		health := "green"
		if want == "notAccessible" {
			health = "red"
		}
		check(want, health, "notApplicable")
	}
}

func TestQueryVolumeInfo(t *testing.T) {
	s := serve(t, 1, cns.Options{})
	id := s.create(t, spec("a", "one", 64))
	task, err := s.cns.QueryVolumeInfo(t.Context(), []cnstypes.CnsVolumeId{{Id: id}, {Id: "none"}})
	r := results(t, task, err)
	if len(r) != 2 {
		t.Fatalf("%d results", len(r))
	}
	info, ok := r[0].(*cnstypes.CnsQueryVolumeInfoResult)
	if !ok {
		t.Fatalf("%T", r[0])
	}
	disk, ok := info.VolumeInfo.(*cnstypes.CnsBlockVolumeInfo)
	if !ok || disk.VStorageObject.Config.Id.Id != id || disk.VStorageObject.Config.CapacityInMB != 64 {
		t.Errorf("%+v", info.VolumeInfo)
	}
	refusedWith[*types.NotFound](t, r[1])
}
