package nodes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// A datastore is used for a zone only if all its hosts mount it: DRS may move a node to one that has none now.
func TestPlacesHostWithoutNode(t *testing.T) {
	r := start(t, world, nil).synced()
	v := r.vcenter("us")
	store, host := r.element("us", "/west/datastore/ds-b"), r.element("us", "/west/host/b/esx-b-2")
	want := volume.Requirement{Requisite: []volume.Segment{segmentOf("us", "us-b")}}
	expect := func(what string, out string) {
		t.Helper()
		eventually(t, what, func() error {
			got, err := r.places(want)
			if err == nil && !slices.Equal(got, []string{out}) {
				err = fmt.Errorf("got %v", got)
			}
			return err
		})
	}
	expect("all", "us: ds-b ds-shared in us-b")
	if err := v.Hosts().Unmount(t.Context(), store, host); err != nil {
		t.Fatal(err)
	}
	expect("unmounted", "us: ds-shared in us-a us-b")
	_, err := r.places(volume.Requirement{Requisite: want.Requisite, Capacity: 90 << 30})
	if err == nil || !strings.Contains(err.Error(), "ds-b: not mounted on host esx-b-2, which has no node now and may get one") {
		t.Error(err)
	}
	if err := v.Hosts().Isolate(t.Context(), host); err != nil { // no VM can move there
		t.Fatal(err)
	}
	expect("host lost", "us: ds-b ds-shared in us-b")
	if err := v.Hosts().Recover(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	expect("host back", "us: ds-shared in us-a us-b")
}

// A datastore that one host of a zone has lost, or no longer mounts, is not used for that zone, until it is back.
func TestPlacesUnmounted(t *testing.T) {
	r := start(t, world, nil).synced()
	v := r.vcenter("us")
	store, host := r.element("us", "/west/datastore/ds-a"), r.element("us", "/west/host/a/esx-a-2")
	want := volume.Requirement{Requisite: []volume.Segment{segmentOf("us", "us-a")}}
	expect := func(what string, out string) {
		t.Helper()
		eventually(t, what, func() error {
			got, err := r.places(want)
			if err == nil && !slices.Equal(got, []string{out}) {
				err = fmt.Errorf("got %v", got)
			}
			return err
		})
	}
	if err := v.Hosts().Unmount(t.Context(), store, host); err != nil {
		t.Fatal(err)
	}
	expect("unmounted", "us: ds-shared in us-a us-b")
	if err := v.Hosts().Mount(t.Context(), store, host); err != nil {
		t.Fatal(err)
	}
	expect("mounted", "us: ds-a ds-shared in us-a")
	if err := v.Hosts().LoseDatastore(t.Context(), store, host); err != nil {
		t.Fatal(err)
	}
	expect("lost", "us: ds-shared in us-a us-b")
	_, err := r.places(volume.Requirement{Requisite: want.Requisite, Capacity: 90 << 30})
	if err == nil || !strings.Contains(err.Error(), "ds-a: not accessible from host esx-a-2 of node a2") {
		t.Error(err)
	}
	if err := v.Hosts().Isolate(t.Context(), host); err != nil { // its last state does not exclude the datastore
		t.Fatal(err)
	}
	expect("host lost", "us: ds-a ds-shared in us-a")
	if err := v.Hosts().Recover(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	expect("host back", "us: ds-shared in us-a us-b")
	if err := v.Hosts().RestoreDatastore(t.Context(), store, host); err != nil {
		t.Fatal(err)
	}
	expect("restored", "us: ds-a ds-shared in us-a")
	if err := v.Hosts().Fill(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	want.Capacity = 1 << 20
	expect("full", "us: ds-shared in us-a us-b")
}

// A datastore that is suspended for CNS gets no new volumes.
func TestPlacesSuspended(t *testing.T) {
	r := start(t, world, nil)
	c := r.lab.Client("us").Client
	fields, err := object.GetCustomFieldsManager(c)
	if err != nil {
		t.Fatal(err)
	}
	def, err := fields.Add(t.Context(), "note", "Datastore", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for store, value := range map[string]string{"ds-a": "cns.vmware.com/datastoreSuspended", "ds-shared": "nothing"} {
		if err := fields.Set(t.Context(), r.element("us", "/west/datastore/"+store), def.Key, value); err != nil {
			t.Fatal(err)
		}
	}
	r.synced()
	r.vcenter("us").EndSessions("") // vcsim does not report changes of custom values, but a new watch reads them
	want := volume.Requirement{Requisite: []volume.Segment{segmentOf("us", "us-a")}}
	eventually(t, "suspended", func() error {
		got, err := r.places(want)
		if err == nil && !slices.Equal(got, []string{"us: ds-shared in us-a us-b"}) {
			err = fmt.Errorf("got %v", got)
		}
		return err
	})
	want.Capacity = 90 << 30
	if _, err := r.places(want); err == nil || !strings.Contains(err.Error(), "ds-a: suspended for new volumes") {
		t.Error(err)
	}
}
