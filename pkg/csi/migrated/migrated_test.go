package migrated_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/migrated"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// A disk becomes a volume at its first use, once, and stays that volume for every process and at any location.
func TestLife(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	path := r.disk("us", "kubevols/old.vmdk")
	s := r.driver()
	uuid, err := s.Attach(ctx, path, r.nodes[0])
	r.must(err)
	again, err := s.Attach(ctx, path, r.nodes[0])
	if err != nil || again != uuid || uuid == "" {
		t.Errorf("attached again: disk %q, %v, was %q", again, err, uuid)
	}
	if _, err := r.driver().Attach(ctx, path, r.nodes[1]); !errors.Is(err, volume.ErrInUse) {
		t.Errorf("attached to a second VM: %v", err)
	}
	records, err := r.cluster.Resource(migrated.Resource()).List(ctx, metav1.ListOptions{})
	r.must(err)
	if len(records.Items) != 1 {
		t.Fatalf("%d records", len(records.Items))
	}
	id := records.Items[0].GetName()
	spec := records.Items[0].Object["spec"].(map[string]any)
	if spec["volumeid"] != id || spec["volumepath"] != path || spec["protectvolumefromvmdelete"] != true {
		t.Errorf("%v", spec)
	}

	s = r.driver() // the first one was killed
	r.must(s.Detach(ctx, path, r.nodes[0]))
	moved, err := s.Attach(ctx, path, r.nodes[1])
	if err != nil || moved != uuid {
		t.Errorf("on the other node it is disk %q (%v), was %q", moved, err, uuid)
	}
	if n := r.registered(); n != 1 {
		t.Errorf("CNS was asked %d times to make a volume of it", n)
	}
	all, on, err := s.Volumes(ctx)
	if err != nil || len(all) != 1 || all[0].ID != path || len(on) != 1 || on[0].Volume != path || on[0].Node.Name != "vm-2" {
		t.Errorf("listed: %+v on %+v, %v", all, on, err)
	}
	if on, err := s.Attachments(ctx, path); err != nil || len(on) != 1 || on[0].Volume != path {
		t.Errorf("attachments: %+v, %v", on, err)
	}
	if v, err := s.Volume(ctx, path); err != nil || v.ID != path || v.Capacity != gib || v.Name != "old" {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := s.Expand(ctx, path, 2*gib); !errors.Is(err, volume.ErrInTree) || !strings.Contains(err.Error(), "cannot be expanded") {
		t.Errorf("expand: %v", err)
	}
	if _, err := s.Snapshot(ctx, path, "snap"); !errors.Is(err, volume.ErrInTree) || !strings.Contains(err.Error(), "cannot have snapshots") {
		t.Errorf("snapshot: %v", err)
	}
	if all, err := s.Snapshots(ctx, volume.SnapshotRef{Volume: path}); err != nil || len(all) != 0 {
		t.Errorf("snapshots: %v, %v", all, err)
	}

	r.must(s.Detach(ctx, path, r.nodes[1]))
	for range 2 {
		r.must(s.Delete(ctx, path))
		r.must(s.Detach(ctx, path, r.nodes[1]))
	}
	if _, err := s.Attach(ctx, path, r.nodes[0]); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("attached when deleted: %v", err)
	}
	if left, err := r.cluster.Resource(migrated.Resource()).List(ctx, metav1.ListOptions{}); err != nil || len(left.Items) != 0 {
		t.Errorf("%d records are left, %v", len(left.Items), err)
	}
}

// A disk that CNS has unregistered becomes the same volume again.
func TestRecordOutlives(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	path := r.disk("us", "kubevols/old.vmdk")
	s := r.driver()
	v, err := s.Volume(ctx, path)
	r.must(err)
	records, err := r.cluster.Resource(migrated.Resource()).List(ctx, metav1.ListOptions{})
	r.must(err)
	r.must(r.lab.VCenters()[0].CNS().Forget(records.Items[0].GetName()))
	if _, err := s.Attach(ctx, path, r.nodes[0]); err != nil {
		t.Errorf("%s: %v", v.Name, err)
	}
}

// A path that matches several disks is refused, unless the configuration selects one.
func TestSeveral(t *testing.T) {
	r := start(t, two)
	ctx := t.Context()
	path := r.disk("eu", "kubevols/old.vmdk")
	s := r.driver()
	_, err := s.Attach(ctx, path, r.nodes[2])
	if !errors.Is(err, volume.ErrNoDatastore) {
		t.Fatal(err)
	}
	for _, words := range []string{`vcenter "us"`, `vcenter "eu"`, "migration-datastore-url"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%v: lacks %s", err, words)
		}
	}
	url := ""
	all, err := s.Datastores(ctx, strings.Trim(strings.Fields(path)[0], "[]"))
	r.must(err)
	for _, d := range all {
		if d.VCenter == "eu" {
			url = d.URL
		}
	}
	if url, err := s.DatastoreURL(ctx, all[0].Name); err == nil {
		t.Errorf("a datastore was chosen for a class: %s", url)
	}
	if _, err := r.driver(url).Attach(ctx, path, r.nodes[2]); err != nil {
		t.Errorf("chosen by URL: %v", err)
	}
	if got, err := r.driver(url).DatastoreURL(ctx, ""); got != url || err != nil {
		t.Errorf("default datastore %q, %v", got, err)
	}
}

// A path may contain the former datastore cluster of its datastore.
func TestCluster(t *testing.T) {
	r := start(t, one)
	path := r.disk("us", "kubevols/old.vmdk")
	s := r.driver()
	inCluster := strings.Replace(path, "[", "[cluster/", 1)
	if _, err := s.Attach(t.Context(), inCluster, r.nodes[0]); err != nil {
		t.Error(err)
	}
	if v, err := s.Volume(t.Context(), inCluster); err != nil || v.ID != inCluster || v.File != path {
		t.Errorf("%+v, %v", v, err)
	}
	name := strings.Trim(strings.Fields(path)[0], "[]")
	want, err := s.DatastoreURL(t.Context(), name)
	r.must(err)
	if url, err := s.DatastoreURL(t.Context(), "cluster/"+name); err != nil || url != want {
		t.Errorf("class: %q, %v, want %q", url, err, want)
	}
}

// A datastore that two datacenters mount is one; two with the same name are not.
func TestMounted(t *testing.T) {
	d := func(vc, dc, url string) volume.Datastore {
		return volume.Datastore{Name: "ds", VCenter: vc, Datacenter: dc, URL: url}
	}
	for name, c := range map[string]struct {
		all []volume.Datastore
		url string
	}{
		"by two datacenters": {[]volume.Datastore{d("us", "a", "ds:///1/"), d("us", "b", "ds:///1/")}, "ds:///1/"},
		"two of them":        {[]volume.Datastore{d("us", "a", "ds:///1/"), d("us", "b", "ds:///2/")}, ""},
		"by two vCenters":    {[]volume.Datastore{d("us", "a", "ds:///1/"), d("eu", "a", "ds:///1/")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := migrated.New(migrated.Config{CNS: known{all: c.all}})
			if url, err := s.DatastoreURL(t.Context(), "ds"); url != c.url || (err == nil) != (c.url != "") {
				t.Errorf("%q, %v", url, err)
			}
		})
	}
}

// known is a CNS with datastores only.
type known struct {
	migrated.CNS
	all []volume.Datastore
}

func (k known) Datastores(context.Context, string) ([]volume.Datastore, error) { return k.all, nil }

// Errors are reported, and no volume is created.
func TestRefused(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	path := r.disk("us", "kubevols/old.vmdk")
	s := r.driver()
	for id, want := range map[string]error{
		"old.vmdk":                              volume.ErrInvalid,
		"[] kubevols/old.vmdk":                  volume.ErrInvalid,
		"[ds] ../../etc/passwd.vmdk":            volume.ErrInvalid,
		"[ds] kubevols/.vmdk":                   volume.ErrInvalid,
		"[cluster/] kubevols/old.vmdk":          volume.ErrInvalid,
		"[nowhere] kubevols/old.vmdk":           volume.ErrNoDatastore,
		strings.Replace(path, "old", "none", 1): volume.ErrNotFound,
	} {
		if _, err := s.Attach(ctx, id, r.nodes[0]); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}
	r.cluster.PrependReactor("*", migrated.Resource().Resource, func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(migrated.Resource().GroupResource(), "")
	})
	if _, err := r.driver().Attach(ctx, path, r.nodes[0]); !errors.Is(err, volume.ErrState) || !strings.Contains(err.Error(), "CustomResourceDefinition") {
		t.Errorf("without the kind: %v", err)
	}
	if _, _, err := r.driver().Volumes(ctx); err != nil {
		t.Errorf("listed without the kind: %v", err)
	}
	if n := r.registered(); n != 1 { // the missing file
		t.Errorf("CNS was asked %d times", n)
	}
}

// A volume of an in-tree StorageClass has the path of its disk as id.
func TestRemember(t *testing.T) {
	r := start(t, one)
	ctx := t.Context()
	s := r.driver()
	on, err := s.Datastores(ctx, strings.Trim(strings.Fields(r.disk("us", "kubevols/old.vmdk"))[0], "[]"))
	r.must(err)
	v, err := s.Create(ctx, volume.Spec{Name: "pvc-1", Capacity: gib, Datastores: on})
	r.must(err)
	path, err := s.RecordVolume(ctx, v.ID)
	if err != nil || !migrated.IsPath(path) {
		t.Fatalf("%q %v", path, err)
	}
	if _, err := r.driver().Attach(ctx, path, r.nodes[0]); err != nil {
		t.Error(err)
	}
	if _, on, err := s.Volumes(ctx); err != nil || len(on) != 1 || on[0].Volume != path {
		t.Errorf("%+v %v", on, err)
	}
	if n := r.registered(); n != 1 {
		t.Errorf("%d volumes were made", n)
	}
}
