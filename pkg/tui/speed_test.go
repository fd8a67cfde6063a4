package tui

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// crowd is a sandbox of many nodes, with the history of a busy one.
type crowd struct {
	fake
	state *fold.State
}

func newCrowd() *crowd {
	return &crowd{fake: fake{more: make(chan api.Update)}, state: tuitest.Big(1000)}
}

func (c *crowd) Watch(ctx context.Context, _ uint64, send func(api.Update) error) error {
	for _, u := range updatesOf(c.state) {
		if err := send(u); err != nil {
			return err
		}
	}
	for {
		select {
		case u := <-c.more:
			if err := send(u); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// updatesOf returns the stream of a state: all rows, the sync, and the events.
func updatesOf(s *fold.State) (all []api.Update) {
	for _, kind := range world.Kinds() {
		for _, row := range s.World().Rows(kind) {
			var u api.Update
			switch v := row.Value.(type) {
			case api.Node:
				u.Node = &v
			case api.VM:
				u.VM = &v
			case api.Host:
				u.Host = &v
			case api.VCenter:
				u.VCenter = &v
			case api.Component:
				u.Component = &v
			case api.Volume:
				u.Volume = &v
			case api.Attachment:
				u.Attachment = &v
			}
			all = append(all, u)
		}
	}
	all = append(all, api.Update{Synced: true})
	for _, e := range s.World().Events() {
		all = append(all, api.Update{Event: &e})
	}
	return all
}

// screen is the other end of the terminal: it reports when the output that it waits for has arrived.
type screen struct {
	mu      sync.Mutex
	got     []byte
	waiting []byte
	seen    chan time.Time
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		return len(b), nil
	}
	if s.got = append(s.got, b...); bytes.Contains(s.got, s.waiting) {
		s.seen <- time.Now()
		s.waiting, s.got = nil, s.got[:0]
	}
	return len(b), nil
}

func (s *screen) expect(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.got = []byte(text), s.got[:0]
}

// wait waits until it has come, and returns when that was.
func (s *screen) wait(b *testing.B) time.Time {
	b.Helper()
	select {
	case at := <-s.seen:
		return at
	case <-time.After(20 * time.Second):
		b.Fatalf("%q is not shown", s.waiting)
		return time.Time{}
	}
}

// open runs the UI in a large terminal, until the benchmark is over.
func open(b *testing.B, c *crowd, s *screen) *tea.Program {
	ctx, cancel := context.WithCancel(b.Context())
	in, keys := io.Pipe()
	m := NewModel(ctx, Options{Sandbox: c, Theme: "dark"})
	p := tea.NewProgram(m, append(programOptions(ctx), tea.WithInput(in), tea.WithOutput(s), tea.WithWindowSize(200, 60),
		tea.WithEnvironment([]string{"TERM=xterm-256color"}))...)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = p.Run()
	}()
	b.Cleanup(func() {
		cancel()
		_ = keys.Close()
		<-over
	})
	return p
}

// BenchmarkEventToScreen measures the time from an update of a sandbox to the bytes that show it, with 100 events and 100 changed
// nodes a second, of 1,000.
func BenchmarkEventToScreen(b *testing.B) {
	c, s := newCrowd(), &screen{seen: make(chan time.Time, 1)}
	s.expect("worker-")
	p := open(b, c, s)
	s.wait(b)
	s.expect("following")
	k, _ := keyOf("2")
	p.Send(k)
	s.wait(b)

	busy := burst(c.state, 30)
	seq := c.state.World().LastEvent()
	report := func(u api.Update) {
		if u.Event != nil {
			seq++
			u.Event.Seq, u.Event.Cause, u.Event.Time = seq, 0, time.Now()
		}
		c.more <- u
	}
	var took []time.Duration
	cpu, start := spent(b), time.Now()
	const letters = "QZXJVGPYDB" // of a row before none is where it is in the next
	for i := 0; b.Loop(); i++ {
		for range 5 { // 50 ms of 100 events a second
			time.Sleep(10 * time.Millisecond)
			for _, u := range busy() {
				report(u)
			}
		}
		mark := strings.Repeat(letters[i%len(letters):]+letters[:i%len(letters)], 2)
		s.expect(mark)
		began := time.Now()
		report(api.Update{Event: &event.Event{Plane: event.PlaneSandbox, Level: event.Info, Kind: "command", Message: mark}})
		took = append(took, s.wait(b).Sub(began))
	}
	b.ReportMetric(100*float64(spent(b)-cpu)/float64(time.Since(start)), "cpu-%")
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
	b.ReportMetric(ms(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkAttach is how long it takes from the beginning of the UI to the first row of 1,000 nodes with 20,000 events, and
// to all of them.
func BenchmarkAttach(b *testing.B) {
	var first, all time.Duration
	for b.Loop() {
		c, s := newCrowd(), &screen{seen: make(chan time.Time, 1)}
		s.expect("worker-")
		began := time.Now()
		open(b, c, s)
		first += s.wait(b).Sub(began)
		c.more <- api.Update{Synced: true} // it is taken when all that was before it has been
		all += time.Since(began)
	}
	b.ReportMetric(first.Seconds()*1000/float64(b.N), "first-row-ms")
	b.ReportMetric(all.Seconds()*1000/float64(b.N), "all-sent-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkIdle measures the processor time of the UI without updates, with 1,000 nodes: each op is five seconds.
func BenchmarkIdle(b *testing.B) {
	c, s := newCrowd(), &screen{seen: make(chan time.Time, 1)}
	s.expect("worker-")
	open(b, c, s)
	s.wait(b)
	c.more <- api.Update{Synced: true}
	time.Sleep(2 * time.Second) // time to draw the updates, and to collect garbage
	cpu, start := spent(b), time.Now()
	for b.Loop() {
		time.Sleep(5 * time.Second)
	}
	b.ReportMetric(100*float64(spent(b)-cpu)/float64(time.Since(start)), "cpu-%")
	b.ReportMetric(0, "ns/op")
}
