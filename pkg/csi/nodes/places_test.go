package nodes_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// placed is a place in the notation of the tests: "us: ds-b ds-shared in us-a us-b".
func placed(p volume.Place) string {
	var stores, segments []string
	for _, d := range p.Datastores {
		stores = append(stores, d.Name)
	}
	for _, s := range p.Segments {
		segments = append(segments, s[zone])
	}
	return fmt.Sprintf("%s: %s in %s", p.VCenter, strings.Join(stores, " "), strings.Join(segments, " "))
}

func (r *rig) places(want volume.Requirement) ([]string, error) {
	found, err := r.Places(r.t.Context(), want)
	var all []string
	for _, p := range found {
		all = append(all, placed(p))
	}
	return all, err
}

func TestPlaces(t *testing.T) {
	r := start(t, world, nil).synced()
	a, b, eu := segmentOf("us", "us-a"), segmentOf("us", "us-b"), segmentOf("eu", "eu-1")
	const gi = 1 << 30
	urlOf := func(seg volume.Segment, name string) string {
		t.Helper()
		found, err := r.Places(t.Context(), volume.Requirement{Requisite: []volume.Segment{seg}})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found[0].Datastores {
			if d.Name == name {
				return d.URL
			}
		}
		t.Fatalf("no %s in %v", name, found)
		return ""
	}
	urlA, urlShared := urlOf(a, "ds-a"), urlOf(a, "ds-shared")
	tests := []struct {
		name string
		want volume.Requirement
		out  []string
		err  error
		why  string // part of the error
	}{
		{name: "one segment", want: volume.Requirement{Requisite: []volume.Segment{a}}, out: []string{"us: ds-a ds-shared in us-a"}},
		{
			name: "preferred in their order",
			want: volume.Requirement{Requisite: []volume.Segment{a, b, eu}, Preferred: []volume.Segment{eu, a, b}},
			out:  []string{"eu: eu-ds in eu-1", "us: ds-a ds-shared in us-a", "us: ds-b ds-shared in us-b"},
		},
		{
			name: "requisite by free space",
			want: volume.Requirement{Requisite: []volume.Segment{a, b}},
			out:  []string{"us: ds-b ds-shared in us-b", "us: ds-a ds-shared in us-a"},
		},
		{
			name: "preferred before the rest",
			want: volume.Requirement{Requisite: []volume.Segment{a, b, eu}, Preferred: []volume.Segment{a}},
			out:  []string{"us: ds-a ds-shared in us-a", "eu: eu-ds in eu-1", "us: ds-b ds-shared in us-b"},
		},
		{
			name: "a region alone",
			want: volume.Requirement{Requisite: []volume.Segment{{region: "us"}}},
			out:  []string{"us: ds-b ds-shared in us-b", "us: ds-a ds-shared in us-a"},
		},
		{
			name: "url",
			want: volume.Requirement{Requisite: []volume.Segment{a, b}, DatastoreURL: strings.TrimSuffix(urlShared, "/")},
			out:  []string{"us: ds-shared in us-a us-b", "us: ds-shared in us-a us-b"},
		},
		{
			name: "url elsewhere",
			want: volume.Requirement{Requisite: []volume.Segment{b}, DatastoreURL: urlA},
			err:  volume.ErrNoDatastore, why: "ds-a: not mounted on host esx-b-1 of node b1",
		},
		{
			name: "url nowhere",
			want: volume.Requirement{Requisite: []volume.Segment{b}, DatastoreURL: "ds:///vmfs/volumes/none/"},
			err:  volume.ErrNotFound, why: `has no datastore with the URL "ds:///vmfs/volumes/none/"`,
		},
		{
			name: "a name for a url",
			want: volume.Requirement{Requisite: []volume.Segment{b}, DatastoreURL: "ds-shared"},
			err:  volume.ErrNotFound, why: `has no datastore with the URL "ds-shared": write its URL, ` + urlShared,
		},
		{
			name: "an inventory path for a url",
			want: volume.Requirement{Requisite: []volume.Segment{b}, DatastoreURL: "/DC0/datastore/ds-shared"},
			err:  volume.ErrNotFound, why: "write its URL, " + urlShared,
		},
		{
			name: "space",
			want: volume.Requirement{Requisite: []volume.Segment{a}, Capacity: 60 * gi},
			out:  []string{"us: ds-a in us-a"},
		},
		{
			name: "no space",
			want: volume.Requirement{Requisite: []volume.Segment{a}, Capacity: 4096 * gi},
			err:  volume.ErrNoSpace, why: "ds-a: 100.0 GiB free, 4096.0 GiB required",
		},
		{
			name: "nobody's segment",
			want: volume.Requirement{Requisite: []volume.Segment{segmentOf("us", "us-c")}},
			err:  volume.ErrNoDatastore, why: "k8s-region=us, k8s-zone=us-c: no node is in it",
		},
		{
			name: "no topology over several vcenters", want: volume.Requirement{},
			err: volume.ErrNoDatastore, why: `nodes are in several vcenters ("us", "eu")`,
		},
		{
			name: "unknown policy",
			want: volume.Requirement{Requisite: []volume.Segment{a}, Policy: "platinum"},
			err:  volume.ErrNotFound, why: `storage policy "platinum"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &rig{Nodes: r.Nodes, t: t}
			got, err := r.places(tt.want)
			if diff := cmp.Diff(tt.out, got); diff != "" {
				t.Error(diff)
			}
			if !errors.Is(err, tt.err) || tt.err == nil && err != nil {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if tt.err == nil && err == nil {
				return
			}
			if !strings.Contains(err.Error(), tt.why) {
				t.Errorf("error %q, want %q in it", err, tt.why)
			}
		})
	}
}

// A datastore that the policy does not accept is not a place, and the error has the reason.
func TestPlacesPolicy(t *testing.T) {
	r := start(t, world, nil).synced()
	got, err := r.places(volume.Requirement{Requisite: []volume.Segment{segmentOf("us", "us-a")}, Policy: "gold"})
	if diff := cmp.Diff([]string{"us: ds-a in us-a"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	_, err = r.places(volume.Requirement{Requisite: []volume.Segment{segmentOf("us", "us-b")}, Policy: "gold"})
	if !errors.Is(err, volume.ErrNoDatastore) || !strings.Contains(err.Error(), `ds-b: not compatible with storage policy "gold"`) {
		t.Error(err)
	}
}

// Without topology, every node with a known VM must reach a datastore; a node without one does not block.
func TestPlacesAnywhere(t *testing.T) {
	r := start(t, world, nil)
	r.cluster.set(append(everyone()[:3], nodes.KubeNode{Name: "stray"}, nodes.KubeNode{Name: "lost", SystemUUID: "42010000-1c2d-4e5f-8071-92a3b4c5d6ff"})...)
	r.synced()
	got, err := r.places(volume.Requirement{})
	if diff := cmp.Diff([]string{"us: ds-shared in us-a us-b"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	r.cluster.set(nodes.KubeNode{Name: "stray"})
	if _, err := r.places(volume.Requirement{}); !errors.Is(err, volume.ErrNoDatastore) || !strings.Contains(err.Error(), "stray: neither") {
		t.Error(err)
	}
}

// Datastores with the preferred tag of a zone come first there, and nowhere else.
func TestPlacesPreferred(t *testing.T) {
	r := start(t, world, nil).synced()
	m := r.tags("us")
	category, err := m.CreateCategory(t.Context(), &tags.Category{Name: "cns.vmware.topology-preferred-datastores", Cardinality: "MULTIPLE"})
	if err != nil {
		t.Fatal(err)
	}
	id, err := m.CreateTag(t.Context(), &tags.Tag{Name: "us-a", CategoryID: category})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.AttachTag(t.Context(), id, r.element("us", "/west/datastore/ds-shared")); err != nil {
		t.Fatal(err)
	}
	want := []string{"us: ds-b ds-shared in us-b", "us: ds-shared in us-a us-b", "us: ds-a in us-a"}
	eventually(t, "preferred first", func() error {
		got, err := r.places(volume.Requirement{Requisite: []volume.Segment{segmentOf("us", "us-a"), segmentOf("us", "us-b")}})
		if !slices.Equal(got, want) {
			return fmt.Errorf("got %v, %w", got, err)
		}
		return nil
	})
}

// A vCenter that is down loses only its own places, and the error mentions it.
func TestPlacesDown(t *testing.T) {
	r := start(t, world, nil).synced()
	a, eu := segmentOf("us", "us-a"), segmentOf("eu", "eu-1")
	r.gate("eu", gate.Down)
	eventually(t, "eu is missed", func() error {
		_, err := r.places(volume.Requirement{Requisite: []volume.Segment{eu}})
		if !errors.Is(err, volume.ErrUnavailable) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	got, err := r.places(volume.Requirement{Requisite: []volume.Segment{eu, a}, Preferred: []volume.Segment{eu, a}})
	if diff := cmp.Diff([]string{"us: ds-a ds-shared in us-a"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := r.places(volume.Requirement{}); !errors.Is(err, volume.ErrUnavailable) {
		t.Errorf("anywhere: %v", err)
	}
	r.gate("eu", gate.Up)
	eventually(t, "eu is back", func() error {
		_, err := r.places(volume.Requirement{Requisite: []volume.Segment{eu}})
		return err
	})
}

func TestSegmentsOf(t *testing.T) {
	r := start(t, world, nil).synced()
	found, err := r.Places(t.Context(), volume.Requirement{Requisite: []volume.Segment{segmentOf("us", "us-a")}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]volume.Segment{}
	for _, d := range found[0].Datastores {
		if got[d.Name], err = r.SegmentsOf(t.Context(), "us", d.URL); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]volume.Segment{
		"ds-a":      {segmentOf("us", "us-a")},
		"ds-shared": {segmentOf("us", "us-a"), segmentOf("us", "us-b")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := r.SegmentsOf(t.Context(), "eu", found[0].Datastores[0].URL); !errors.Is(err, volume.ErrNotFound) {
		t.Errorf("another vcenter's: %v", err)
	}
}

// Before all nodes are known, no place is reachable from all.
func TestPlacesEarly(t *testing.T) {
	r := start(t, world, func(r *rig, _ *nodes.Config) { r.cluster.unknown = true })
	if _, err := r.places(volume.Requirement{}); !errors.Is(err, volume.ErrUnavailable) {
		t.Error(err)
	}
}
