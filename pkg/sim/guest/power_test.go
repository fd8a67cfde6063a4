package guest

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

func TestBoots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		type ran struct {
			vm    string
			cycle uint64
			after time.Duration
		}
		var got []ran
		b := startBoots(func(b boot) { got = append(got, ran{b.ref.Value, b.cycle, time.Since(begin)}) })
		add := func(vm string, cycle uint64, after time.Duration) {
			b.add(boot{ref: vc.Ref{Value: vm}, cycle: cycle, due: begin.Add(after)})
		}
		add("late", 1, 3*time.Second)
		add("early", 1, time.Second)
		add("cycled", 1, time.Second)
		add("cycled", 2, 2*time.Second) // the first does not count any more
		add("canceled", 1, time.Second)
		b.cancel(vc.Ref{Value: "canceled"})
		add("at once", 1, 0)
		synctest.Wait()
		time.Sleep(10 * time.Second)
		add("never", 1, time.Hour)
		b.close()
		b.close()
		want := []ran{{"at once", 1, 0}, {"early", 1, time.Second}, {"cycled", 2, 2 * time.Second}, {"late", 1, 3 * time.Second}}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
