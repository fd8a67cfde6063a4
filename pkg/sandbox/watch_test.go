package sandbox

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// watcher reads a watch in the background.
type watcher struct {
	t       *testing.T
	updates chan api.Update
}

func watch(t *testing.T, c *api.Client, after uint64) *watcher {
	t.Helper()
	w := &watcher{t: t, updates: make(chan api.Update, 4096)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- c.Watch(ctx, after, func(u api.Update) error { w.updates <- u; return nil })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return w
}

// next returns the next update that match likes, and skips others.
func (w *watcher) next(what string, match func(api.Update) bool) api.Update {
	w.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case u := <-w.updates:
			if match(u) {
				return u
			}
		case <-timeout:
			w.t.Fatalf("%s: not told", what)
		}
	}
}

func TestWatch(t *testing.T) {
	s, c := withFaults(t)
	s.opts.VCentersOnly = false
	s.standOn(s.newGround())
	s.log.Append(event.Event{Kind: "once.upon-a-time"})
	w := watch(t, c, 0)
	var vms, hosts, vcenters, events int
	w.next("synced", func(u api.Update) bool {
		switch {
		case u.VM != nil:
			vms++
		case u.Host != nil:
			hosts++
		case u.VCenter != nil:
			vcenters++
		case u.Event != nil:
			events++
		}
		return u.Synced
	})
	if vms != 6 || hosts != 6 || vcenters != 2 || events == 0 {
		t.Errorf("%d VMs, %d hosts, %d vCenters, %d events", vms, hosts, vcenters, events)
	}
	want, err := c.VMs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, tableOf(s, func(u api.Update) *api.VM { return u.VM }), byName); diff != "" {
		t.Errorf("VMs (-listed +watched):\n%s", diff)
	}
	wantHosts, err := c.Hosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantHosts, tableOf(s, func(u api.Update) *api.Host { return u.Host }), cmpopts.SortSlices(func(a, b api.Host) bool { return a.Name < b.Name })); diff != "" {
		t.Errorf("hosts (-listed +watched):\n%s", diff)
	}

	lease, err := c.Inject(t.Context(), api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Names: []string{"worker-east-1"}}})
	if err != nil {
		t.Fatal(err)
	}
	var leases []string
	off := false
	w.next("a VM that is off, and its lease", func(u api.Update) bool {
		if u.Lease != nil {
			leases = append(leases, u.Lease.State)
		}
		off = off || u.VM != nil && u.VM.Name == "worker-east-1" && u.VM.Power == "off"
		return off && len(leases) > 0 && leases[len(leases)-1] == "active"
	})
	if leases[0] != "applying" {
		t.Errorf("the lease was %q", leases)
	}
	if _, err := c.Heal(t.Context(), api.HealRequest{IDs: []string{lease.ID}}); err != nil {
		t.Fatal(err)
	}
	w.next("a VM that is on", func(u api.Update) bool { return u.VM != nil && u.VM.Name == "worker-east-1" && u.VM.Power == "on" })

	if _, err := c.Gate(t.Context(), api.GateRequest{VCenter: "eu", Mode: "down"}); err != nil {
		t.Fatal(err)
	}
	if u := w.next("a vCenter that is down", func(u api.Update) bool { return u.VCenter != nil }); u.VCenter.Name != "eu" || u.VCenter.Gate != "down" {
		t.Errorf("vCenter %+v", u.VCenter)
	}
	if _, err := c.Gate(t.Context(), api.GateRequest{VCenter: "eu", Mode: "up"}); err != nil {
		t.Fatal(err)
	}
}

// A tag that moves is seen without anybody asking.
func TestWatchTags(t *testing.T) {
	s, c := withFaults(t)
	w := watch(t, c, math.MaxUint64)
	w.next("synced", func(u api.Update) bool {
		if u.Event != nil {
			t.Errorf("an event of before: %+v", u.Event)
		}
		return u.Synced
	})
	us := s.vcenters.Find("us")
	err := us.Client.DoREST(t.Context(), func(ctx context.Context, rc *rest.Client) error {
		m := tags.NewManager(rc)
		for _, o := range us.Inventory.Items("Datacenter") {
			if o.Name == "dceast" {
				return m.DetachTag(ctx, "us-east", o.Ref)
			}
		}
		return errors.New("nothing has the tag")
	})
	if err != nil {
		t.Fatal(err)
	}
	w.next("VM without a zone", func(u api.Update) bool { return u.VM != nil && u.VM.Name == "worker-east-1" && u.VM.Zone == "" })
}

func TestWatchEndsWithTheSandbox(t *testing.T) {
	s := newSandbox(t, "single")
	if err := s.server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := api.NewClient(s.opts.Dir.SocketPath())
	synced, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- c.Watch(t.Context(), 0, func(u api.Update) error {
			if u.Synced {
				close(synced)
			}
			return nil
		})
	}()
	<-synced
	if err := s.server.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("err %v", err)
	}
}
