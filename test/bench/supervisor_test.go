package bench

import (
	"context"
	"strings"
	"testing"
	"time"
)

// boot is what a boot took, in seconds, and what sandbox and control plane hold after it, in MiB.
type boot struct{ ready, guest, held float64 }

// BenchmarkSupervisor measures what a Supervisor adds to a boot: two topologies of the same size, with and without one, in turn.
func BenchmarkSupervisor(b *testing.B) {
	l, runs := newLab(b), 0
	for b.Loop() {
		var without, with boot
		for topology, to := range map[string]*boot{"zones-per-cluster": &without, "supervisor": &with} {
			var err error
			if *to, err = l.boot(b.Context(), topology); err != nil {
				_ = l.down(b.Context())
				b.Fatalf("run %d, %s: %v", runs+1, topology, err)
			}
		}
		l.note("up zones-per-cluster → ready", "s", 0, without.ready)
		l.note("up supervisor → ready", "s", 0, with.ready)
		l.note("a Supervisor's part of the boot", "s", 1.5, with.ready-without.ready)
		l.note("of it, waiting for the guest cluster's credentials", "s", 0, with.guest)
		l.note("a Supervisor's memory (sandbox + control plane, RSS)", "MiB", 120, with.held-without.held)
		runs++
	}
	l.print(runs, "topologies zones-per-cluster and supervisor, four nodes each, speed 10")
}

// boot boots a topology, measures it, and ends it.
func (l *lab) boot(ctx context.Context, topology string) (m boot, err error) {
	begin := time.Now()
	events, err := l.up(ctx, topology)
	if err != nil {
		return m, err
	}
	var last time.Time
	for _, e := range events {
		if e.Kind == "boot.step" {
			if strings.HasPrefix(e.Message, "guest cluster:") {
				m.guest = e.Time.Sub(last).Seconds()
			}
			last = e.Time
		}
		if e.Kind == "sandbox.ready" {
			m.ready = e.Time.Sub(begin).Seconds()
		}
	}
	if err := wait(ctx, settle); err != nil {
		return m, err
	}
	st, err := l.sandbox.Status(ctx)
	if err != nil {
		return m, err
	}
	pids := []int{st.PID}
	for _, part := range st.Components {
		if part.Name == "control-plane" {
			pids = append(pids, part.PID)
		}
	}
	for _, pid := range pids {
		held, err := mib(pid, "VmRSS")
		if err != nil {
			return m, err
		}
		m.held += held
	}
	return m, l.run(ctx, "down")
}
