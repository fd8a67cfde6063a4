package loadbalancer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/nsxtest"
)

// workers is how many Services the program makes at a time.
const workers = 8

// ensureAll makes load balancers as the service controller does.
func ensureAll(t testing.TB, p *process, all []*corev1.Service) {
	t.Helper()
	next := make(chan *corev1.Service)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for s := range next {
				if _, err := p.EnsureLoadBalancer(t.Context(), cluster, s, nsxtest.Nodes(3)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, s := range all {
		next <- s
	}
	close(next)
	running.Wait()
}

func many(w *world, n int) (all []*corev1.Service) {
	for i := range n {
		all = append(all, w.add(nsxtest.Service(fmt.Sprintf("s%03d", i), nsxtest.TCP(80, int32(30000+i)))))
	}
	return all
}

// TestBudget: 200 Services at 20 ms a call within 20 s, a Service at no latency within 1 s, and at rest at most a call a minute.
func TestBudget(t *testing.T) {
	r := start(t, rigOptions{})
	w := newWorld("uid")
	p := r.process(w, processOptions{})
	began := time.Now()
	r.ensure(p, w.add(nsxtest.Service("one", nsxtest.TCP(80, 31000))), 3)
	took := time.Since(began)
	t.Logf("1 Service at no latency: %s", took.Round(time.Millisecond))
	if took > time.Second {
		t.Errorf("a Service takes %s", took)
	}
	if testing.Short() {
		t.Skip("the rest takes seconds")
	}
	remove := r.rule(gate.Rule{Action: gate.Latency{Delay: 20 * time.Millisecond}})
	began = time.Now()
	ensureAll(t, p, many(w, 200))
	took = time.Since(began)
	t.Logf("200 Services: %s, %d calls", took.Round(10*time.Millisecond), p.calls())
	if took > 20*time.Second {
		t.Errorf("200 Services take %s", took)
	}
	remove()
	// One collection, as every half hour.
	before := p.calls()
	if err := p.Collect(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	made := p.calls() - before
	t.Logf("at rest: %d calls in half an hour", made)
	if made > 30 {
		t.Errorf("a collection makes %d calls: at rest more than one a minute", made)
	}
}

// TestQuiet: a process at rest makes no calls between collections.
func TestQuiet(t *testing.T) {
	r := start(t, rigOptions{})
	w := newWorld("uid")
	p := r.process(w, processOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx, cluster)
	}()
	r.ensure(p, w.add(nsxtest.Service("web", nsxtest.TCP(80, 30080))), 1)
	settled := func() bool {
		n := p.calls()
		time.Sleep(1500 * time.Millisecond) // longer than until the first collection
		return p.calls() == n
	}
	for deadline := time.Now().Add(20 * time.Second); !settled(); {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to rest")
		}
	}
	cancel()
	<-ended
}

// BenchmarkEnsure: a Service that is as it should be.
func BenchmarkEnsure(b *testing.B) {
	r := start(b, rigOptions{})
	w := newWorld("uid")
	p := r.process(w, processOptions{})
	all := many(w, 200)
	ensureAll(b, p, all)
	for i := 0; b.Loop(); i++ {
		r.ensure(p, all[i%len(all)], 3)
	}
}
