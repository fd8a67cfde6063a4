package fold_test

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// BenchmarkApply takes in 100 events and 100 rows: a second of a busy sandbox of 1,000 nodes.
func BenchmarkApply(b *testing.B) {
	s := tuitest.Big(1000)
	nodes, now, seq := world.Values[api.Node](s.World(), world.Node), s.Now(), s.World().LastEvent()
	batch := make([]api.Update, 0, 200)
	for round := 0; b.Loop(); round++ {
		now = now.Add(time.Second)
		batch = batch[:0]
		for i := range 100 {
			seq++
			n := nodes[(round*100+i)%len(nodes)]
			n.Ready = []string{"True", "Unknown"}[round%2]
			batch = append(batch, api.Update{Event: &event.Event{Seq: seq, Time: now}}, api.Update{Node: &n})
		}
		s.Apply(now, batch...)
	}
}

// BenchmarkFindings is a row that changes, and what is found then.
func BenchmarkFindings(b *testing.B) {
	s := tuitest.Big(1000)
	n, now := world.Values[api.Node](s.World(), world.Node)[3], s.Now()
	for i := 0; b.Loop(); i++ {
		now = now.Add(time.Second)
		n.Zone = []string{"here", "there"}[i%2]
		s.Apply(now, api.Update{Node: &n})
		if len(s.Findings()) == 0 {
			b.Fatal("nothing is found")
		}
	}
}

// BenchmarkSettling changes a row while most of 1,000 nodes have recently come to differ from their VMs: each must be examined
// again when that lasts too long.
func BenchmarkSettling(b *testing.B) {
	s := tuitest.Big(1000)
	nodes, now := world.Values[api.Node](s.World(), world.Node), s.Now()
	for i := 0; b.Loop(); i++ {
		now = now.Add(10 * time.Millisecond)
		n := nodes[i%len(nodes)]
		n.Ready = []string{"Unknown", "True"}[i/len(nodes)%2]
		s.Apply(now, api.Update{Node: &n})
	}
}

// BenchmarkRows is a row that changes, and the list of all.
func BenchmarkRows(b *testing.B) {
	s := tuitest.Big(1000)
	n, now := world.Values[api.Node](s.World(), world.Node)[3], s.Now()
	for i := 0; b.Loop(); i++ {
		n.Zone = []string{"here", "there"}[i%2]
		s.Apply(now, api.Update{Node: &n})
		s.World().Rows(world.Node)
	}
}

// BenchmarkTick is time that passes.
func BenchmarkTick(b *testing.B) {
	s := tuitest.Big(1000)
	now := s.Now()
	for b.Loop() {
		now = now.Add(50 * time.Millisecond)
		s.Tick(now)
		s.NextTick()
	}
}
