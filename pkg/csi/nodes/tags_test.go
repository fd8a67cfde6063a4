package nodes_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// changeLog collects the calls of listeners.
type changeLog struct {
	mu  sync.Mutex
	all []string
}

func (l *changeLog) add(names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, names...)
}

func (l *changeLog) has(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.all, name) {
		return fmt.Errorf("changes: %v", l.all)
	}
	return nil
}

func (l *changeLog) nothing() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) > 0 {
		return fmt.Errorf("changes: %v", l.all)
	}
	return nil
}

func (l *changeLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = nil
}

func (r *rig) expectSegment(node, id string, want volume.Segment) {
	r.t.Helper()
	eventually(r.t, "segment of "+node, func() error {
		got, err := r.Segment(r.t.Context(), node, id)
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			err = errors.New(diff)
		}
		return err
	})
}

func TestSegment(t *testing.T) {
	r := start(t, world, nil).synced()
	r.expectSegment("a1", uuidA1, segmentOf("us", "us-a"))
	r.expectSegment("b1", uuidB1, segmentOf("us", "us-b"))
	r.expectSegment("e1", uuidE1, segmentOf("eu", "eu-1"))
	if _, err := r.Segment(t.Context(), "x", "42010000-1c2d-4e5f-8071-92a3b4c5d6ff"); !errors.Is(err, volume.ErrNodeGone) {
		t.Errorf("nobody: %v", err)
	}
}

// A VM that moves to another zone moves its node there, and only that node is reported.
func TestSegmentMove(t *testing.T) {
	r := start(t, world, nil)
	var l changeLog
	defer r.Listen(l.add)()
	r.synced()
	eventually(t, "all are reported once", func() error { return errors.Join(l.has("a1"), l.has("a2"), l.has("b1"), l.has("e1")) })
	eventually(t, "nothing more is reported", func() error {
		l.reset()
		time.Sleep(200 * time.Millisecond)
		return l.nothing()
	})
	r.move("us", "/west/vm/a1", "/west/host/b/esx-b-2")
	r.expectSegment("a1", uuidA1, segmentOf("us", "us-b"))
	eventually(t, "reported", func() error { return l.has("a1") })
	if err := l.has("a2"); err == nil {
		t.Error("a2 is reported too")
	}
	eventually(t, "places follow", func() error {
		got, err := r.places(volume.Requirement{Requisite: []volume.Segment{segmentOf("us", "us-b")}})
		if !slices.Equal(got, []string{"us: ds-b ds-shared in us-b"}) {
			return fmt.Errorf("got %v, %w", got, err)
		}
		return nil
	})
}

// A tag that is attached late is reported as missing until then; a nearer one replaces it.
func TestSegmentTagLate(t *testing.T) {
	r := start(t, world, nil)
	r.cluster.set(append(everyone(), nodes.KubeNode{Name: "n1", SystemUUID: uuidN1})...)
	r.synced()
	_, err := r.Segment(t.Context(), "n1", uuidN1)
	var missing *nodes.MissingTagError
	if !errors.As(err, &missing) || missing.Category != "k8s-region" || missing.Node != "n1" ||
		!strings.Contains(err.Error(), `node "n1": no tag of category "k8s-region" on any of HostSystem "esx-bare"`) {
		t.Fatalf("got %v", err)
	}
	var l changeLog
	defer r.Listen(l.add)()
	m := r.tags("us")
	tag := func(category, name, path string) {
		t.Helper()
		id, err := m.CreateTag(t.Context(), &tags.Tag{Name: name, CategoryID: category})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.AttachTag(t.Context(), id, r.element("us", path)); err != nil {
			t.Fatal(err)
		}
	}
	tag("k8s-region", "far", "/bare")
	tag("k8s-zone", "far-1", "/bare")
	r.expectSegment("n1", uuidN1, segmentOf("far", "far-1"))
	eventually(t, "reported", func() error { return l.has("n1") })
	tag("k8s-zone", "far-2", "/bare/host/esx-bare")
	r.expectSegment("n1", uuidN1, segmentOf("far", "far-2"))
}

// A category without a tag above the host is searched above the VM, each separately.
func TestSegmentOfTheVM(t *testing.T) {
	r := start(t, world, nil).synced()
	m := r.tags("us")
	for category, path := range map[string]string{"k8s-region": "/bare/vm/n1", "k8s-zone": "/bare/vm"} {
		id, err := m.CreateTag(t.Context(), &tags.Tag{Name: "own-" + category, CategoryID: category})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.AttachTag(t.Context(), id, r.element("us", path)); err != nil {
			t.Fatal(err)
		}
	}
	r.expectSegment("n1", uuidN1, segmentOf("own-k8s-region", "own-k8s-zone"))
}

// While a vCenter is unreachable, its nodes are neither moved nor gone.
func TestSegmentDown(t *testing.T) {
	r := start(t, world, nil).synced()
	r.gate("eu", gate.Down)
	eventually(t, "eu is missed", func() error {
		if _, err := r.Segment(t.Context(), "e1", uuidE1); !errors.Is(err, volume.ErrUnavailable) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	r.expectSegment("a1", uuidA1, segmentOf("us", "us-a"))
	r.gate("eu", gate.Up)
	r.expectSegment("e1", uuidE1, segmentOf("eu", "eu-1"))
}

func TestNoSuchCategory(t *testing.T) {
	r := start(t, world, func(_ *rig, cfg *nodes.Config) {
		cfg.Categories = []nodes.Category{{Name: "k8s-zone", Key: "topology.kubernetes.io/zone"}, {Name: "rack"}}
	}).synced()
	_, err := r.Segment(t.Context(), "a1", uuidA1)
	if err == nil || !strings.Contains(err.Error(), `no tag of category "rack"`) || !strings.Contains(err.Error(), "no category with that name") {
		t.Error(err)
	}
	if err := r.Set(nil, nil); err == nil {
		t.Error("no vcenters at all were taken")
	}
}

// Categories and vCenters can be replaced; what stays is not read again.
func TestSet(t *testing.T) {
	var vcenters []nodes.VCenter
	r := start(t, world, func(_ *rig, cfg *nodes.Config) {
		vcenters = cfg.VCenters
		cfg.VCenters = cfg.VCenters[:1]
	}).synced()
	if _, err := r.Node(t.Context(), uuidE1); !errors.Is(err, volume.ErrNodeGone) {
		t.Errorf("eu is not configured: %v", err)
	}
	if err := r.Set(vcenters, []nodes.Category{{Name: "k8s-region"}, {Name: "k8s-zone"}}); err != nil {
		t.Fatal(err)
	}
	r.expectSegment("a1", uuidA1, segmentOf("us", "us-a"))
	r.synced()
	r.expectSegment("e1", uuidE1, segmentOf("eu", "eu-1"))
	if err := r.Set(vcenters[1:], []nodes.Category{{Name: "k8s-zone"}}); err != nil {
		t.Fatal(err)
	}
	r.synced()
	r.expectSegment("e1", uuidE1, volume.Segment{zone: "eu-1"})
	if err := r.Set(vcenters, nil); err != nil {
		t.Fatal(err)
	}
	r.synced()
	r.expectSegment("a1", uuidA1, nil)
}
