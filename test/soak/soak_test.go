package soak

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

var (
	calls    = flag.Int64("calls", 5000, "calls in all")
	rounds   = flag.Int("rounds", 5, "rounds; all sessions end after each, and what is left is measured")
	least    = flag.Duration("least", 0, "how long the rounds take at least, together")
	profiles = flag.String("profiles", "", "write a heap profile after each round into this `DIRECTORY`")
	limit    = flag.Duration("stall", 0, "what is a stall; default 1s, and 5s where there are few calls: the suite runs beside others")
)

const (
	sessions = 20
	// many calls are enough to tell what grows from what is filled once: recent tasks, pages of events, caches.
	many = 100_000
)

const inventory = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: soak}
spec:
  tagCategories: [{name: load, cardinality: multiple}]
  vcenters:
    - name: vc
      reactions: {guest: {boot: 5ms, addresses: 5ms, shutdown: 5ms}}
      datacenters:
        - name: dc
          zone: z
          datastores: [{name: ds1}, {name: ds2}]
          clusters: [{name: c, hosts: [{name: "host-{n}", replicas: 8}], pools: [{name: pool}]}]
          hosts: [{name: alone}]
          vms: [{name: "vm-{nnn}", replicas: 200, cluster: c}]
`

// TestSoak fails when a call or a task takes longer than the limit, when an answer is none that a vCenter gives, and when
// goroutines or memory are left after a round.
func TestSoak(t *testing.T) {
	if race.Enabled {
		t.Skip("vcsim itself races when VMs are created and destroyed at once: run it without -race, as make test does, too")
	}
	stall := *limit
	if stall == 0 {
		stall = time.Second
		if *calls < many {
			stall = 5 * time.Second
		}
	}
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		// Creation and snapshots write files, and a disk that others write to stalls for longer than anything of ours.
		t.Setenv("TMPDIR", "/dev/shm")
	}
	m := newMeter()
	lab := sim.Start(t, inventory)
	v, _ := lab.VCenter("vc")
	base := runtime.NumGoroutine()
	t.Logf("%d goroutines before", base)

	begin := time.Now()
	var heaps []uint64
	for n := range *rounds {
		until := *calls * int64(n+1) / int64(*rounds)
		round(t, lab, m, until, *least/time.Duration(*rounds))
		heaps = append(heaps, quiesce(t, base))
		if *profiles != "" {
			writeHeap(t, filepath.Join(*profiles, fmt.Sprintf("heap-%d.pprof", n+1)))
		}
		t.Logf("round %d: %d calls, %d VMs, heap %.1f MB, worst %s", n+1, m.calls.Load(), v.VMs(), float64(heaps[n])/1e6, m.worst())
		if t.Failed() {
			return
		}
	}
	t.Logf("%d calls in %s: %s", m.calls.Load(), time.Since(begin).Round(time.Millisecond), m.summary())
	if w := m.worst(); w.took > stall {
		t.Errorf("%s: longer than %s", w, stall)
	}
	for _, e := range m.unexpected() {
		t.Errorf("unexpected: %s", e)
	}
	for name, n := range m.operations() {
		if n == 0 {
			t.Errorf("%s was never done", name)
		}
	}
	checkGrowth(t, heaps)
}

// round is the life of all sessions, until so many calls have been made and some time has passed.
func round(t *testing.T, lab *sim.Lab, m *meter, until int64, least time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Minute)
	defer cancel()
	w := newWorld(t, lab, m)
	end := time.Now().Add(least)
	w.done = func() bool { return m.calls.Load() >= until && time.Now().After(end) || t.Failed() }
	watched := watchdog(t, m)
	defer watched()
	roles := []struct {
		n    int
		name string
		run  func(context.Context, *worker) error
	}{
		{5, "power", power},
		{4, "listview", listView},
		{3, "watch", watch},
		{2, "create", create},
		{2, "tag", tag},
		{2, "search", search},
		{1, "host", hosts},
		{1, "kill", kill},
	}
	n := 0
	for _, r := range roles {
		for i := range r.n {
			n++
			w.start(ctx, fmt.Sprintf("%s-%d", r.name, i+1), r.run)
		}
	}
	if n != sessions {
		t.Fatalf("%d sessions, want %d", n, sessions)
	}
	w.wait()
}
