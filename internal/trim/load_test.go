package trim

import (
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Two collections in a second are load; five seconds without any are none.
func TestLoad(t *testing.T) {
	l, total := load{idle: 50, busy: 200}, uint64(0)
	var percents []int
	for _, n := range []uint64{0, 1, 2, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 3} {
		total += n
		percent, _ := l.next(total)
		percents = append(percents, percent)
	}
	if want := []int{50, 50, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 50, 50, 200}; !slices.Equal(percents, want) {
		t.Errorf("%v, want %v", percents, want)
	}
}

// The runtime counts its collections, and SetGCPercent is called for a change only.
func TestCycles(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	before := cycles()
	var kept [][]byte
	for deadline := time.Now().Add(10 * time.Second); cycles() == before; {
		if kept = append(kept, make([]byte, 1<<20)); len(kept) > 16 {
			kept = nil
		}
		if time.Now().After(deadline) {
			t.Fatal("no collection is counted")
		}
	}
}

// With a GOGC in the environment there is nothing to follow.
func TestFollowLoadStands(t *testing.T) {
	t.Setenv("GOGC", "100")
	synctest.Test(t, func(t *testing.T) { FollowLoad(t.Context(), 50, 200) })
}
