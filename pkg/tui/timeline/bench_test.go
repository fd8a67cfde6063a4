package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// large is a screen of a thousand nodes whose log is full.
func large(b *testing.B) (*Screen, *fold.State, func() api.Update) {
	b.Helper()
	state := tuitest.Big(1000)
	seq := state.World().LastEvent()
	next := func() api.Update {
		seq++
		return api.Update{Event: &event.Event{
			Seq: seq, Time: state.Now(), Plane: event.PlaneKubernetes, Level: event.Warning, Kind: "node.tainted", Cause: seq - 3,
			Object: event.Object{Kind: "Node", Name: fmt.Sprintf("worker-%d", seq%1000)}, Message: "taint node.kubernetes.io/unreachable",
		}}
	}
	for seq < fold.KeepEvents+10 {
		state.Apply(state.Now(), next())
	}
	s := screen(200, 57, state)
	s.SetTheme(theme.Dark())
	return s, state, next
}

// A frame in which ten events are new: a tenth of a second of a sandbox in trouble.
func BenchmarkFrame(b *testing.B) {
	for _, filter := range []string{"", "worker-7 level:warning"} {
		b.Run("filter="+filter, func(b *testing.B) {
			s, state, next := large(b)
			s.SetFilter(filter)
			for b.Loop() {
				b.StopTimer()
				for range 10 {
					state.Apply(state.Now().Add(10*time.Millisecond), next())
				}
				b.StartTimer()
				s.SetState(state)
				_ = s.View()
			}
		})
	}
}

func BenchmarkChainFrame(b *testing.B) {
	s, state, next := large(b)
	s.ShowChain(state.World().LastEvent())
	for b.Loop() {
		b.StopTimer()
		for range 10 {
			state.Apply(state.Now().Add(10*time.Millisecond), next())
		}
		b.StartTimer()
		s.SetState(state)
		_ = s.View()
	}
}

// A letter that is typed into the filter.
func BenchmarkFilter(b *testing.B) {
	s, _, _ := large(b)
	for i := 0; b.Loop(); i++ {
		s.SetFilter(fmt.Sprintf("worker-7%d unreach", i%10))
		_ = s.View()
	}
}
