package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
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
	s.nodes.assign(s.opts.Topology, nil)
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
	us := s.watchedVCenter("us")
	err := us.client.DoREST(t.Context(), func(ctx context.Context, rc *rest.Client) error {
		m := tags.NewManager(rc)
		for _, o := range us.inventory.Items("Datacenter") {
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

func TestWatchNodes(t *testing.T) {
	// Nodes come and go beside their VMs.
	var r rows
	lines, reader := r.read()
	if len(lines) != 0 {
		t.Fatal(lines)
	}
	defer r.close(reader)
	told := func(want ...string) {
		t.Helper()
		got := []string{}
		lines, _ := r.take(reader)
		for _, l := range lines {
			got = append(got, nodeText(t, l)...)
		}
		if !slices.Equal(want, got) {
			t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
		}
	}
	vm := vmOf("vm-1", "worker-1", "A1", "")
	r.vm(vm)
	told("worker-1 vm=worker-1 power=on registered=false")
	vm.Hostname = "Worker-1.example"
	r.vm(vm)
	told("worker-1 vm=worker-1 power=on registered=false deleted", "worker-1.example vm=worker-1 power=on registered=false")
	node := api.Node{Name: "worker-1.example", Registered: true}
	r.node(node, []string{"a1"})
	told("worker-1.example vm=worker-1 power=on registered=true")
	r.node(node, []string{"a1"}) // a heartbeat
	told()
	vm.Power = "off"
	r.vm(vm)
	told("worker-1.example vm=worker-1 power=off registered=true")
	vm.UUID = "" // blank for a while
	r.vm(vm)
	told("worker-1.example vm= power= registered=true")
	node.ProviderID = "vsphere://b2"
	r.node(node, []string{"b2", "a1"})
	told("worker-1.example vm= power= registered=true")
	vm.UUID = "B2"
	r.vm(vm)
	told("worker-1.example vm=worker-1 power=off registered=true")
	r.nodeGone("worker-1.example")
	told("worker-1.example vm=worker-1 power=off registered=false")
	vm.Exists = false
	r.vm(vm)
	told("worker-1.example vm=worker-1 power=off registered=false deleted")
	r.node(api.Node{Name: "stranger", Registered: true}, nil)
	told("stranger vm= power= registered=true")
	r.nodeGone("stranger")
	told("stranger vm= power= registered=true deleted")
}

// A reader that falls too far behind is cut off; others are not.
func TestSlowWatcher(t *testing.T) {
	var r rows
	_, slow := r.read()
	_, other := r.read()
	for i := range maxBehind + 1 {
		r.component(api.Component{Name: "ccm", PID: i})
		if i%1000 == 0 {
			r.take(other)
		}
	}
	if lines, ok := r.take(slow); ok || len(lines) > 0 {
		t.Errorf("%d lines, %v", len(lines), ok)
	}
	if lines, ok := r.take(other); !ok || len(lines) == 0 {
		t.Errorf("%d lines, %v", len(lines), ok)
	}
	r.close(slow)
	r.close(other)
	if len(r.readers) != 0 {
		t.Error("a reader is left")
	}
}

// It does not take many rows, if they are large.
func TestSlowWatcherOfLargeRows(t *testing.T) {
	var r rows
	_, slow := r.read()
	large := strings.Repeat("x", 1<<20)
	for i := range maxBytesBehind>>20 + 1 {
		if slow.slow {
			t.Fatalf("after %d rows", i)
		}
		r.component(api.Component{Name: "ccm", PID: i, Message: large})
	}
	if lines, ok := r.take(slow); ok || len(lines) > 0 {
		t.Errorf("%d lines, %v", len(lines), ok)
	}
}

// Leases that were healed long ago are not kept for ever; what is broken is.
func TestForgottenLeases(t *testing.T) {
	var r rows
	r.lease(api.Lease{ID: "f0", State: "active"})
	_, reader := r.read()
	for i := range maxHealed + 2 {
		id := fmt.Sprintf("f%d", i+1)
		r.lease(api.Lease{ID: id, State: "active"})
		r.lease(api.Lease{ID: id, State: "healed"})
	}
	lines, _ := r.take(reader)
	var gone []string
	for _, line := range lines {
		var u api.Update
		if err := json.Unmarshal(line, &u); err != nil {
			t.Fatal(err)
		}
		if u.Deleted {
			gone = append(gone, u.Lease.ID+" "+u.Lease.State)
		}
	}
	if d := cmp.Diff([]string{"f1 healed", "f2 healed"}, gone); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(r.table) != maxHealed+1 || r.table["lease/f0"] == nil || len(r.leases) != len(r.table) {
		t.Errorf("%d rows, %d leases", len(r.table), len(r.leases))
	}
}

func TestWatchEndsWithTheSandbox(t *testing.T) {
	s := newSandbox(t, "single")
	if err := s.serveAPI(t.Context()); err != nil {
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
	if err := s.closeAPI(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("err %v", err)
	}
}
