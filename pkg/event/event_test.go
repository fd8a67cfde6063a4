package event

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

func fill(l *Log, n int) {
	for i := range n {
		l.Append(Event{Kind: fmt.Sprintf("k.%d", i+1)})
	}
}

func TestReadFromAnywhere(t *testing.T) {
	for _, tc := range []struct {
		name                    string
		appended, limit         int
		after                   uint64
		first, count, wantsLost uint64
	}{
		{name: "empty log", after: 0},
		{name: "all", appended: 3, first: 1, count: 3},
		{name: "after the second", appended: 3, after: 2, first: 3, count: 1},
		{name: "after the newest", appended: 3, after: 3},
		{name: "from the future", appended: 3, after: 9},
		{name: "a page", appended: 4, limit: 2, first: 1, count: 2},
		{name: "loss is told", appended: 10, first: 7, count: 4, wantsLost: 6},
		{name: "loss counts from the reader's position", appended: 10, after: 4, first: 7, count: 4, wantsLost: 2},
		{name: "a reader within the memory loses nothing", appended: 10, after: 6, first: 7, count: 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := NewLog(4)
			fill(l, tc.appended)
			events, lost := l.Read(tc.after, tc.limit)
			if uint64(len(events)) != tc.count || lost != tc.wantsLost {
				t.Fatalf("%d events and %d lost, want %d and %d", len(events), lost, tc.count, tc.wantsLost)
			}
			for i, e := range events {
				if want := tc.first + uint64(i); e.Seq != want || e.Kind != fmt.Sprintf("k.%d", want) {
					t.Errorf("event %d is %d %s, want %d", i, e.Seq, e.Kind, want)
				}
			}
		})
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLog(0)
		got := make(chan []Event)
		go func() {
			events, _, _ := l.Wait(t.Context(), 0, 0)
			got <- events
		}()
		synctest.Wait() // the reader is waiting now
		l.Append(Event{Kind: "vm.powered-off"})
		if events := <-got; len(events) != 1 || events[0].Kind != "vm.powered-off" || events[0].Level != Info || events[0].Time.IsZero() {
			t.Errorf("got %+v", events)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := l.Wait(ctx, 1, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want context.Canceled", err)
		}
	})
}

func TestConcurrentWritersGetOneOrder(t *testing.T) {
	l := NewLog(0)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { fill(l, 500) })
	}
	wg.Wait()
	events, lost := l.Read(0, 0)
	if len(events) != 4000 || lost != 0 || l.Last() != 4000 {
		t.Fatalf("%d events, %d lost, last %d", len(events), lost, l.Last())
	}
	for i, e := range events {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d has seq %d", i, e.Seq)
		}
	}
}
