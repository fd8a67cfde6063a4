package inventory_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// tagger is a separate login at the REST API.
func (w *world) tagger(t testing.TB, name string) *tags.Manager {
	t.Helper()
	v := w.vcenter(t, name)
	rc := rest.NewClient(w.admin(t, name))
	if err := rc.Login(t.Context(), url.UserPassword(v.User(), v.Password())); err != nil {
		t.Fatal(err)
	}
	return tags.NewManager(rc)
}

// A missed tag is found before the next regular read.
func TestTagMiss(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	vm, err := w.ByHostName("e1").One()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Zone(vm); err == nil {
		t.Fatal("a zone before there is a tag")
	}
	m := w.tagger(t, "us")
	id, err := m.CreateTag(t.Context(), &tags.Tag{Name: "us-east", CategoryID: "k8s-zone"})
	if err != nil {
		t.Fatal(err)
	}
	dc, err := find.NewFinder(w.admin(t, "us")).Datacenter(t.Context(), "/americas/east")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.AttachTag(t.Context(), id, dc); err != nil {
		t.Fatal(err)
	}
	eventually(t, "zone of e1", func() error {
		z, err := w.Zone(vm)
		if err == nil && z != (inventory.Zone{Region: "us", Zone: "us-east"}) {
			err = fmt.Errorf("got %v", z)
		}
		return err
	})
}

// Categories are configured by name; a missing one is reported, and blocks nothing else.
func TestNoCategory(t *testing.T) {
	w := start(t, func(_ *world, cfg *inventory.Config) { cfg.Categories.Zone = "no-such-category" })
	w.synced(t)
	vm, err := w.ByHostName("w1").One()
	if err != nil {
		t.Fatal(err)
	}
	var missing *inventory.MissingTagError
	if _, err := w.Zone(vm); !errors.As(err, &missing) || missing.Err == nil {
		t.Errorf("got %v, want the reading's error in it", err)
	}
}

// A vCenter is read even if it is so slow that all calls together take longer than the timeout of one.
func TestTagsSlow(t *testing.T) {
	w := start(t, func(w *world, _ *inventory.Config) {
		if err := w.vcenter(t, "us").Gate().Set(t.Context(), gate.Mode{State: gate.Slow, Delay: 400 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
	})
	w.synced(t)
	vm, err := w.ByHostName("w1").One()
	if err != nil {
		t.Fatal(err)
	}
	if z, err := w.Zone(vm); err != nil || z.Zone != "us-west" {
		t.Errorf("got %v, %v", z, err)
	}
}

// In steady state a vCenter gets one long poll and three REST calls per read, for any number of VMs.
func TestSteadyState(t *testing.T) {
	const period = 100 * time.Millisecond
	w := start(t, func(_ *world, cfg *inventory.Config) { cfg.TagRefresh = period })
	w.synced(t)
	calls := func() map[string]int64 {
		n := map[string]int64{}
		for _, s := range w.vcenter(t, "us").Gate().Stats() {
			n[s.Method] += s.Calls
		}
		return n
	}
	before, began := calls(), time.Now()
	time.Sleep(10*period + period/2)
	after := calls()
	readings := int64(time.Since(began)/period) + 1 // a busy machine sleeps longer
	var soap, rest int64
	for method, n := range after {
		switch n -= before[method]; {
		case n == 0:
		case method == "WaitForUpdatesEx":
			soap += n
		case strings.Contains(method, "/"):
			rest += n
		default:
			t.Errorf("%d calls of %s", n, method)
		}
	}
	// Every tenth read reads the three tags and two categories again.
	if soap > 3 || rest > readings*3+(readings/10+1)*6 {
		t.Errorf("%d long polls and %d REST calls with %d readings", soap, rest, readings)
	}
}
