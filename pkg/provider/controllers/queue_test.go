package controllers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names that begin with "slow" are handed out alone.
func slowAlone(name string) bool { return strings.HasPrefix(name, "slow") }

func TestQueueOrder(t *testing.T) {
	q := newQueue(slowAlone)
	take := func(urged bool, names ...string) *batch {
		t.Helper()
		b := q.take()
		if b == nil {
			t.Fatalf("nothing, want %v", names)
		}
		if diff := cmp.Diff(names, b.names); diff != "" || b.urged != urged {
			t.Fatalf("urged %v (-want +got):\n%s", b.urged, diff)
		}
		return b
	}
	hand := func(b *batch) *batch { q.handed(b); return b }

	q.beginRound([]string{"a", "b", "slow1", "slow2", "c", "d"})
	ab := hand(take(false, "a", "b"))
	slow1 := hand(take(false, "slow1"))
	q.urge([]string{"c", "a", "slow2", "c"})
	hurried := hand(take(true, "c")) // a consumer has a, and slow2 is handed out alone
	slow2 := hand(take(true, "slow2"))
	if b := q.take(); b == nil || b.names[0] != "d" { // consumers have slow2 and c
		t.Fatalf("got %+v, want d", b)
	} else {
		q.putBack(b)
	}
	q.returned(ab)
	if !q.hasUrgent() {
		t.Error("a has come back and is urged")
	}
	hand(take(true, "a"))
	d := hand(take(false, "d"))
	if q.take() != nil {
		t.Error("something is left that nobody has")
	}
	q.returned(hurried)
	q.returned(slow2)
	again := hand(take(false, "slow2"))
	c := hand(take(false, "c"))
	for _, b := range []*batch{slow1, d, c} {
		q.returned(b)
		if q.endRound(nil) {
			t.Fatal("the round has ended before everything came back")
		}
	}
	q.returned(again)
	if !q.endRound(nil) || q.endRound(nil) {
		t.Error("the round must end once")
	}
}

func TestQueueBatchesAreBounded(t *testing.T) {
	var names []string
	for i := range 2*maxBatch + 1 {
		names = append(names, fmt.Sprint(i))
	}
	q := newQueue(slowAlone)
	q.beginRound(names)
	var sizes []int
	for b := q.take(); b != nil; b = q.take() {
		sizes = append(sizes, len(b.names))
	}
	if diff := cmp.Diff([]int{maxBatch, maxBatch, 1}, sizes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

func TestQueueEmptyRoundEnds(t *testing.T) {
	q := newQueue(slowAlone)
	q.beginRound(nil)
	if !q.endRound(q.take()) {
		t.Error("a round over no nodes must end")
	}
}
