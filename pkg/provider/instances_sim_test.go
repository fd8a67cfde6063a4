package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// eventsOf returns the reasons of the events on a node so far.
func (w *world) eventsOf(t *testing.T, name string) []corev1.Event {
	t.Helper()
	return slices.DeleteFunc(w.events(t, ""), func(e corev1.Event) bool {
		return e.InvolvedObject.Kind != "Node" || e.InvolvedObject.Name != name
	})
}

// expectEvent waits for an event on a node with the reason, whose message contains all parts.
func (w *world) expectEvent(t *testing.T, name, reason string, parts ...string) {
	t.Helper()
	eventually(t, name+": "+reason, func() error { return w.hasEvent(t, name, reason, parts...) })
}

// hasEvent returns nil if there is such an event, and otherwise an error with the existing ones.
func (w *world) hasEvent(t *testing.T, name, reason string, parts ...string) error {
	t.Helper()
	var events []string
	for _, e := range w.eventsOf(t, name) {
		events = append(events, e.Reason+": "+e.Message)
		if e.Reason == reason && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(e.Message, p) }) {
			return nil
		}
	}
	return fmt.Errorf("events: %q", events)
}

// Nodes of every vCenter have zones (kubernetes/cloud-provider-vsphere#294).
func TestZonesOfEveryVCenter(t *testing.T) {
	w := start(t, nil)
	for name, want := range map[string]inventory.Zone{"w1": {Region: "us", Zone: "us-west"}, "eu1": {Region: "eu", Zone: "eu-all"}} {
		m, err := w.InstanceMetadata(t.Context(), uninitialized(node(name, "", "")))
		if err != nil || m.Region != want.Region || m.Zone != want.Zone {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// The nearest tag counts, separately for region and zone.
func TestZoneNested(t *testing.T) {
	w := start(t, nil)
	m, err := w.InstanceMetadata(t.Context(), uninitialized(node("nested", "", "")))
	if err != nil || m.Region != "us" || m.Zone != "inner" {
		t.Errorf("%+v, %v", m, err)
	}
}

// A guest that reports late or stops reporting causes events and retries, and no deletion
// (kubernetes/cloud-provider-vsphere#381, #383, #398, #772).
func TestGuestReportsLate(t *testing.T) {
	w := start(t, nil)
	w.do(t, "/west/vm/w1", (*object.VirtualMachine).PowerOff)
	n := uninitialized(node("w1", "", w1UUID))
	eventually(t, "nothing reported", func() error {
		if _, err := w.InstanceMetadata(t.Context(), n); err == nil {
			return errors.New("metadata")
		}
		return nil
	})
	if exists, err := w.InstanceExists(t.Context(), n); !exists || err != nil {
		t.Errorf("exists %v, %v", exists, err)
	}
	w.expectEvent(t, "w1", ReasonGuestNotReporting, "w1 (vm-", "it is off")
	w.do(t, "/west/vm/w1", (*object.VirtualMachine).PowerOn)
	eventually(t, "reported", func() error {
		_, err := w.InstanceMetadata(t.Context(), n)
		return err
	})
	w.expectEvent(t, "w1", ReasonNodeWell, ReasonGuestNotReporting)
}

// A VM outside the configured datacenters is not gone; upstream reports it gone.
func TestOutsideDatacenters(t *testing.T) {
	for parity, gone := range map[Parity]bool{"": false, ParityUpstream: true} {
		w := startWith(t, setup{
			options: func(o *Options) { o.Parity = parity },
			tenants: map[string]string{"us": ", datacenters: [west]"},
		})
		n := node("u1", "vsphere://"+u1UUID, "")
		exists, err := w.InstanceExists(t.Context(), n)
		if exists || (err == nil) != gone {
			t.Errorf("parity %q: exists %v, %v", parity, exists, err)
		}
		if !gone {
			w.expectEvent(t, "u1", ReasonDeletionHeldBack, "u1 (vm-", "outside the configured datacenters")
		}
		w.gate(t, "eu", gate.Down)
		eventually(t, "in doubt", func() error {
			if exists, err := w.InstanceExists(t.Context(), n); exists || err == nil {
				return fmt.Errorf("exists %v, %w", exists, err)
			}
			return nil
		})
	}
}

// A configured datacenter that is missing may have been renamed: no node is deleted, and the event contains its name.
func TestDatacenterMissing(t *testing.T) {
	for _, parity := range []Parity{"", ParityUpstream} {
		w := startWith(t, setup{
			options: func(o *Options) { o.Parity = parity },
			tenants: map[string]string{"us": ", datacenters: [west, renamed]"},
		})
		if exists, err := w.InstanceExists(t.Context(), node("gone", "vsphere://"+unknown, "")); exists || err == nil {
			t.Errorf("parity %q: exists %v, %v", parity, exists, err)
		}
		w.expectEvent(t, "gone", ReasonDeletionHeldBack, `vcenter "us"`, `"renamed"`)
	}
}

// The events on a node contain what was searched, and which vCenter refused.
func TestNodeEventsName(t *testing.T) {
	w := start(t, func(s *corev1.Secret) { s.Data["127.0.0.2.PASSWORD"] = []byte("hunter2-wrong") })
	ctx := t.Context()
	ask := func(n *corev1.Node) {
		_, _ = w.InstanceMetadata(ctx, n)
		_, _ = w.InstanceExists(ctx, n)
	}
	eu, _ := w.sim.VCenter("eu")
	ask(node("foreign", "k3s://foreign", ""))
	w.expectEvent(t, "foreign", ReasonForeignProviderID, "k3s://foreign")
	ask(node("gone", "vsphere://"+unknown, unknown))
	w.expectEvent(t, "gone", ReasonVCenterUnavailable, `vcenter "eu"`, eu.User(), "login refused")
	ask(uninitialized(node("waits", "", unknown)))
	w.expectEvent(t, "waits", ReasonVCenterUnavailable, `vcenter "eu"`, "login refused")
	ask(uninitialized(node("u1", "", "")))
	w.update(t, w.secret())
	eventually(t, "every vcenter is there", func() error {
		if exists, err := w.InstanceExists(ctx, node("gone", "vsphere://"+unknown, unknown)); exists || err != nil {
			return fmt.Errorf("exists %v, %w", exists, err)
		}
		return nil
	})
	w.expectEvent(t, "gone", ReasonVMGone, "every configured vcenter", unknown)
	ask(uninitialized(node("waits", "", unknown)))
	w.expectEvent(t, "waits", ReasonVMNotFound, "system uuid", unknown, "hostnames [waits]")
	ask(uninitialized(node("u1", "", "")))
	w.expectEvent(t, "u1", ReasonZoneTagMissing, `"k8s-region"`, `"k8s-zone"`, `"h2"`, `"untagged"`)
	for _, e := range w.events(t, "") {
		if strings.Contains(e.Message, "hunter2") {
			t.Errorf("a password: %s", e.Message)
		}
		if e.InvolvedObject.Kind == "Node" && (e.Namespace != "default" || e.Source.Component != UserAgent) {
			t.Errorf("%s of %s in %s", e.Reason, e.Source.Component, e.Namespace)
		}
	}
}

// Wrong new credentials cause no deletion, with or without a session, and the node's events give the reason
// (kubernetes/cloud-provider-vsphere#479).
func TestCredentialsRotatedToWrong(t *testing.T) {
	w := start(t, nil)
	eu, _ := w.sim.VCenter("eu")
	there, gone := node("eu1", "vsphere://"+eu1UUID, ""), node("gone", "vsphere://"+unknown, "")
	s := w.secret()
	s.Data["127.0.0.2.PASSWORD"] = []byte("hunter2-wrong")
	w.update(t, s)
	eventually(t, "an event about the Secret", func() error {
		if len(w.events(t, ReasonLoginFailed)) == 0 {
			return errors.New("no event")
		}
		return nil
	})
	if exists, err := w.InstanceExists(t.Context(), there); !exists || err != nil {
		t.Errorf("with the old session: exists %v, %v", exists, err)
	}
	eu.EndSessions(eu.User())
	eventually(t, "the session is noticed to have ended", func() error {
		exists, err := w.InstanceExists(t.Context(), gone)
		if exists {
			return errors.New("exists")
		}
		if err == nil {
			return errors.New("still answered by the old session")
		}
		return nil
	})
	for range 50 {
		if exists, err := w.InstanceExists(t.Context(), there); !exists && err == nil {
			t.Fatal("a node is gone because its vcenter refuses the login")
		}
	}
	eventually(t, "the login is refused", func() error {
		if _, err := w.InstanceExists(t.Context(), gone); !errors.Is(err, vcenter.ErrInvalidLogin) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	// The first failure depends on timing; an event about another one comes a minute later.
	w.expectEvent(t, "gone", ReasonVCenterUnavailable, `vcenter "eu"`)
	w.update(t, w.secret())
	eventually(t, "right again", func() error {
		exists, err := w.InstanceExists(t.Context(), there)
		if err == nil && !exists {
			t.Fatal("gone")
		}
		return err
	})
}

// When starting with a Secret there is no login with an empty or wrong user, and one session for each vCenter's API
// (kubernetes/cloud-provider-vsphere#774; CAPV #1818).
func TestLoginsAtStart(t *testing.T) {
	w := start(t, nil)
	for _, v := range w.sim.VCenters() {
		for _, s := range v.Gate().Stats() {
			if s.Method == "Login" && s.Client == UserAgent && (s.Calls != 1 || s.Errors != 0) {
				t.Errorf("%s: %d logins, %d refused", v.Name(), s.Calls, s.Errors)
			}
		}
	}
}

// SKIP_NODE_DELETION keeps a node, with any value (kubernetes/cloud-provider-vsphere#393, #476).
func TestSkipNodeDeletion(t *testing.T) {
	w := startWith(t, setup{env: []string{"SKIP_NODE_DELETION=false"}})
	n := node("gone", "vsphere://"+unknown, "")
	// While a vCenter is not in sync, that is reported instead.
	eventually(t, "the reported reason", func() error {
		if exists, err := w.InstanceExists(t.Context(), n); exists || !errors.Is(err, ErrDeletionSkipped) {
			t.Fatalf("exists %v, %v", exists, err)
		}
		return w.hasEvent(t, "gone", ReasonDeletionSkipped, "SKIP_NODE_DELETION", unknown)
	})
}

// Thirty-two workers make all calls while VMs start and stop and a vCenter fails: no race, and no existing node is ever reported
// gone.
func TestChurn(t *testing.T) {
	w := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var workers sync.WaitGroup
	for i := range 32 {
		workers.Go(func() {
			l := legacy{w.Provider}
			nodes := []*corev1.Node{
				node("w1", "vsphere://"+w1UUID, ""), uninitialized(node("w2", "", "")), node("eu1", "vsphere://"+eu1UUID, ""), node("x", "kind://x", ""),
			}
			for n := i; ctx.Err() == nil; n++ {
				asked := nodes[n%len(nodes)]
				_, _ = w.InstanceMetadata(ctx, asked)
				_, _ = w.InstanceShutdown(ctx, asked)
				_, _ = l.NodeAddresses(ctx, "w2")
				if exists, err := w.InstanceExists(ctx, asked); !exists && err == nil {
					t.Errorf("%s is gone", asked.Name)
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	for range 3 {
		w.do(t, "/west/vm/w1", (*object.VirtualMachine).PowerOff, (*object.VirtualMachine).PowerOn, (*object.VirtualMachine).Suspend, (*object.VirtualMachine).PowerOn)
		w.gate(t, "eu", gate.Down)
		w.do(t, "/west/vm/w2", (*object.VirtualMachine).PowerOff, (*object.VirtualMachine).PowerOn)
		w.gate(t, "eu", gate.Up)
	}
	cancel()
	workers.Wait()
}
