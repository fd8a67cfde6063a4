package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// TestOutage cuts a vCenter off while a client waits for changes: the wait ends, the sibling is not concerned, and
// afterwards sessions, tags and inventory are what they were.
func TestOutage(t *testing.T) {
	s := start(t, zones, nil)
	us, eu := s.vcenter(t, "vc-us"), s.vcenter(t, "vc-eu")
	c, sibling := s.login(t, us), s.login(t, eu)
	m := tags.NewManager(s.rest(t, us))

	began := make(chan struct{}, 1)
	ended := make(chan error)
	go func() {
		p, err := property.DefaultCollector(c.Client).Create(t.Context())
		if err != nil {
			ended <- err
			return
		}
		ended <- property.WaitForUpdates(t.Context(), p, new(property.WaitFilter).Add(
			c.ServiceContent.RootFolder, "Folder", []string{"name"}), func([]types.ObjectUpdate) bool {
			began <- struct{}{}
			return false
		})
	}()
	<-began

	set := func(mode gate.Mode) {
		t.Helper()
		if err := us.Gate().Set(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
	}
	set(gate.Mode{State: gate.Down})
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a wait ended without error")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("a wait goes on while the vCenter is down")
	}
	if _, err := methods.GetCurrentTime(t.Context(), c); err == nil {
		t.Error("a vCenter that is down answers")
	}
	if _, err := methods.GetCurrentTime(t.Context(), sibling); err != nil {
		t.Errorf("the sibling: %v", err)
	}

	set(gate.Mode{State: gate.Up})
	if active, err := session.NewManager(c.Client).UserSession(t.Context()); err != nil || active == nil {
		t.Errorf("session after the outage: %v, %v", active, err)
	}
	if all, err := m.GetTagsForCategory(t.Context(), "k8s-zone"); err != nil || len(all) != 4 {
		t.Errorf("%d zone tags after the outage, %v", len(all), err)
	}
	vm(t, c, "/americas/dcwest/vm/k8s/masters/cp-1")

	set(gate.Mode{State: gate.Hung})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := methods.GetCurrentTime(ctx, c); err == nil {
		t.Error("a vCenter that hangs answers")
	}
	set(gate.Mode{State: gate.Slow, Delay: 30 * time.Millisecond})
	begin := time.Now()
	if _, err := methods.GetCurrentTime(t.Context(), c); err != nil || time.Since(begin) < 30*time.Millisecond {
		t.Errorf("slow: %v after %s", err, time.Since(begin))
	}
	set(gate.Mode{})

	var kinds []string
	events, _ := s.events.Read(0, 0)
	for _, e := range events {
		if e.Object.Kind == "VCenter" && e.Object.Name == "vc-us" {
			kinds = append(kinds, e.Kind)
		}
	}
	want := []string{"gate.down", "gate.up", "gate.hung", "gate.slow", "gate.up"}
	if len(kinds) != len(want) {
		t.Fatalf("events %v, want %v", kinds, want)
	}
	for i := range want {
		if kinds[i] != want[i] {
			t.Errorf("events %v, want %v", kinds, want)
		}
	}

	var calls int64
	for _, stat := range us.Gate().Stats() {
		if stat.Method == "CurrentTime" {
			calls += stat.Calls
		}
	}
	if calls < 2 {
		t.Errorf("%d calls of CurrentTime counted", calls)
	}
}

// TestCloseWithWaitersIsQuick: a simulation with long polls under way stops at once.
func TestCloseWithWaitersIsQuick(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	began, ended := make(chan struct{}, 1), make(chan error)
	go func() {
		p, err := property.DefaultCollector(c.Client).Create(t.Context())
		if err == nil {
			err = property.WaitForUpdates(t.Context(), p, new(property.WaitFilter).Add(
				c.ServiceContent.RootFolder, "Folder", []string{"name"}), func([]types.ObjectUpdate) bool {
				began <- struct{}{}
				return false
			})
		}
		ended <- err
	}()
	<-began
	begin := time.Now()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d > 20*time.Second { // the poll would last a minute
		t.Errorf("closed after %s", d)
	}
	if err := <-ended; err == nil {
		t.Error("the wait ended without error")
	}
}
