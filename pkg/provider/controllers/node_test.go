package controllers_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

var errNoHostName = errors.New("guest has no hostname yet")

// A guest reports its hostname or its adapters late, when the controller has failed so often that it waits for minutes:
// kubernetes/cloud-provider-vsphere#381, #772, rancher/rancher#50089.
func TestLateHostName(t *testing.T) {
	for _, tc := range []struct {
		name   string
		node   *corev1.Node
		nudge  func(*rig)
		within time.Duration
	}{
		{"told by its UUID", newNode(1), func(r *rig) { r.nudges.Changed(providerID(1)) }, 110 * time.Millisecond},
		{"told by its UUID in the other byte order", newNode(1), func(r *rig) { r.nudges.Changed("vsphere://" + swapped(1)) }, 110 * time.Millisecond},
		{"not told by a UUID", withoutUUID(newNode(1)), func(r *rig) { r.nudges.Changed(providerID(1)) }, 110 * time.Millisecond},
		{"not told at all", newNode(1), func(r *rig) { r.nudges.ChangedAll() }, 110 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				r := start(t, settings{only: []string{"cloud-node-controller"}}, tc.node)
				r.cloud.set(func(h *hooks) {
					h.metadata = func(*corev1.Node, *cloudprovider.InstanceMetadata) error { return errNoHostName }
				})
				settle(30 * time.Minute)
				before := r.cloud.counts()["metadata"]
				r.cloud.set(func(h *hooks) { h.metadata = nil })
				settle(5 * time.Minute)
				if isInitialized(r.node(name(1))) || r.cloud.counts()["metadata"] != before {
					t.Fatal("the back-off is no longer long: this proves nothing")
				}
				tc.nudge(r)
				settle(tc.within)
				if node := r.node(name(1)); !isInitialized(node) || len(node.Status.Addresses) != 3 {
					t.Errorf("not initialized: %+v", node)
				}
			})
		})
	}
}

func withoutUUID(node *corev1.Node) *corev1.Node {
	node.Status.NodeInfo.SystemUUID = ""
	return node
}

func TestLateHostNameWithoutNudge(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{statusPeriod: 5 * time.Minute}, newNode(1))
		r.cloud.set(func(h *hooks) {
			h.metadata = func(*corev1.Node, *cloudprovider.InstanceMetadata) error { return errNoHostName }
		})
		settle(31 * time.Minute)
		r.cloud.set(func(h *hooks) { h.metadata = nil })
		settle(5 * time.Minute)
		if !isInitialized(r.node(name(1))) {
			t.Error("a node waits longer than the status period for its next attempt")
		}
	})
}

// VMs that are not nodes change all the time. Not every change must cause an attempt.
func TestStrangersAreBounded(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{}, withoutUUID(newNode(1)))
		r.cloud.set(func(h *hooks) {
			h.metadata = func(*corev1.Node, *cloudprovider.InstanceMetadata) error { return errNoHostName }
		})
		settle(24 * time.Hour)
		for _, interval := range []time.Duration{10 * time.Millisecond, 250 * time.Millisecond} {
			before := r.cloud.counts()["metadata"]
			for i := range int(10 * time.Second / interval) {
				r.nudges.Changed(providerID(10 + i))
				settle(interval)
			}
			if n := r.cloud.counts()["metadata"] - before; n < 1 || n > 2 {
				t.Errorf("a change each %s: %d attempts in 10 s, want one at once and one at the end", interval, n)
			}
			settle(time.Minute)
		}
	})
}

func TestAddressesFollowNudge(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{}, boundNodes(3)...)
		settle(time.Second)
		before := r.cloud.counts()
		r.cloud.set(func(h *hooks) {
			h.metadata = func(_ *corev1.Node, m *cloudprovider.InstanceMetadata) error {
				m.NodeAddresses[1].Address = "10.9.9.9"
				return nil
			}
		})
		r.nudges.Changed(providerID(1))
		settle(110 * time.Millisecond)
		if got := r.node(name(1)).Status.Addresses[1].Address; got != "10.9.9.9" {
			t.Errorf("address is %s", got)
		}
		after := r.cloud.counts()
		if after["metadata"] != before["metadata"]+1 || after["metadata "+name(1)] != before["metadata "+name(1)]+1 {
			t.Errorf("not only the node that was nudged was looked at: %v then %v", before, after)
		}
	})
}

// Upstream's comparison of addresses patches a dual-stack node in every turn.
func TestDualStackIsPatchedOnChangeOnly(t *testing.T) {
	dual := func(_ *corev1.Node, m *cloudprovider.InstanceMetadata) error {
		m.NodeAddresses = append(m.NodeAddresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::1"})
		return nil
	}
	in(t, func(t *testing.T) {
		r := start(t, settings{statusPeriod: time.Minute}, newNode(1))
		r.cloud.set(func(h *hooks) { h.metadata = dual })
		settle(90 * time.Second)
		if node := r.node(name(1)); !isInitialized(node) || len(node.Status.Addresses) != 4 {
			t.Fatalf("not initialized: %+v", node)
		}
		before := r.count("patch", "nodes")
		settle(time.Hour)
		if n := r.count("patch", "nodes") - before; n != 0 {
			t.Errorf("%d patches without a change", n)
		}
		r.cloud.set(func(h *hooks) { h.metadata = nil })
		settle(time.Minute)
		if n := len(r.node(name(1)).Status.Addresses); n != 3 {
			t.Errorf("%d addresses after one went away", n)
		}
	})
}

func TestManyNodesByManyWorkers(t *testing.T) {
	in(t, func(t *testing.T) {
		var nodes []*corev1.Node
		for i := range 200 {
			nodes = append(nodes, newNode(i))
		}
		r := start(t, settings{syncs: 32, statusUpdates: 32, statusPeriod: 100 * time.Millisecond, monitorPeriod: 50 * time.Millisecond}, nodes...)
		for i := range 200 {
			go func() {
				r.nudges.Changed(providerID(i))
				r.nudges.ChangedAll()
			}()
		}
		settle(3 * time.Second)
		for i := range 200 {
			if !isInitialized(r.node(name(i))) {
				t.Errorf("%s is not initialized", name(i))
			}
		}
	})
}
