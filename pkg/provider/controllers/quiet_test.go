package controllers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/controllers"
)

func TestNothingHappensBetweenPeriods(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{statusPeriod: 5 * time.Minute, monitorPeriod: 5 * time.Second},
			boundNode(1), boundNode(2), notReady(boundNode(3)))
		settle(time.Second)
		if n := r.cloud.counts()["metadata"]; n != 3 {
			t.Errorf("%d nodes looked at in the first turn, want all 3 and at once", n)
		}
		settle(time.Hour)
		counts := r.cloud.counts()
		for _, tc := range []struct {
			what string
			want int
		}{
			{"metadata", 3 * 13}, // 12 times an hour, and the first
			{"exists", 721},      // every 5 s, and the first
			{"exists " + name(3), 721},
		} {
			if got := counts[tc.what]; got != tc.want {
				t.Errorf("%s: %d calls in an hour, want %d", tc.what, got, tc.want)
			}
		}
		for _, verb := range []string{"patch", "update", "delete"} {
			if n := r.count(verb, "nodes"); n != 0 {
				t.Errorf("%d calls of %s", n, verb)
			}
		}
	})
}

func TestStormIsFewTurns(t *testing.T) {
	const vms = 1000
	in(t, func(t *testing.T) {
		r := start(t, settings{statusUpdates: 8}, boundNodes(vms)...)
		settle(time.Second)

		before := r.cloud.counts()["metadata"]
		for i := range vms {
			r.nudges.Changed(providerID(i))
		}
		settle(2 * time.Second)
		if n := r.cloud.counts()["metadata"] - before; n != vms {
			t.Errorf("%d nodes looked at after a change of each, want %d", n, vms)
		}

		before = r.cloud.counts()["metadata"]
		for i := range vms {
			r.nudges.Changed(providerID(i % 3))
			settle(5 * time.Millisecond)
		}
		if n := r.cloud.counts()["metadata"] - before; n < 3 || n > 8*3 {
			t.Errorf("3 nodes looked at %d times in 5 s of changes", n)
		}

		for _, interval := range []time.Duration{5 * time.Millisecond, 250 * time.Millisecond} {
			before = r.cloud.counts()["metadata"]
			for range 5 * time.Second / interval {
				r.nudges.ChangedAll()
				settle(interval)
			}
			if n := r.cloud.counts()["metadata"] - before; n < 2*vms || n > 7*vms {
				t.Errorf("everything each %s: %d nodes looked at in 5 s, want one round a second", interval, n)
			}
			settle(time.Minute)
		}
	})
}

func TestNudgeBeforeStart(t *testing.T) {
	in(t, func(t *testing.T) {
		nudges := &controllers.Resyncer{}
		for i := range 10_000 {
			nudges.Changed(fmt.Sprint("vm", i))
		}
		nudges.Changed(providerID(1))
		r := start(t, settings{nudges: nudges}, newNode(1), notReady(boundNode(2)))
		settle(2 * time.Second)
		if !isInitialized(r.node(name(1))) || r.cloud.counts()["exists"] == 0 {
			t.Error("not started")
		}
	})
}

// When the context ends, everything ends: synctest fails the test if a goroutine is left.
func TestEndInTheMiddle(t *testing.T) {
	in(t, func(t *testing.T) {
		nodes := append(boundNodes(50), newNode(100), notReady(boundNode(101)), notReady(boundNode(102)))
		r := start(t, settings{statusPeriod: time.Second, monitorPeriod: time.Second, syncs: 4, opts: controllers.Options{RelabelZones: true}}, nodes...)
		r.cloud.set(func(h *hooks) {
			h.exists = func(ctx context.Context, _ *corev1.Node) (bool, error) {
				<-ctx.Done()
				return false, ctx.Err()
			}
		})
		settle(10 * time.Second)
		for i := range nodes {
			r.nudges.Changed(providerID(i))
		}
		r.nudges.ChangedAll()
		r.stop()
		r.nudges.Changed(providerID(1))
		r.nudges.ChangedAll()
	})
}

// The stock controllers have process-wide metrics and queues with the same names; several instances work nevertheless.
func TestSeveralInOneProcess(t *testing.T) {
	in(t, func(t *testing.T) {
		a, b := start(t, settings{}, newNode(1)), start(t, settings{}, newNode(1), notReady(boundNode(2)))
		settle(time.Second)
		if !isInitialized(a.node(name(1))) || !isInitialized(b.node(name(1))) {
			t.Error("not initialized")
		}
		b.cloud.set(func(h *hooks) { h.shutdown = func(*corev1.Node) (bool, error) { return true, nil } })
		a.nudges.ChangedAll()
		settle(2 * time.Second)
		if isShutdown(b.node(name(2))) {
			t.Error("one hears the nudges of the other")
		}
		b.nudges.ChangedAll()
		settle(2 * time.Second)
		if !isShutdown(b.node(name(2))) {
			t.Error("its own nudge is not heard")
		}
	})
}
