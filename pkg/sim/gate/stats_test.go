package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLastError(t *testing.T) {
	s := newStats()
	last := func() string { return s.by[statKey{"M", "c"}].LastError }
	for _, tc := range []struct {
		call Call
		want string
	}{
		{Call{Status: 200}, ""},
		{Call{Status: 500, Fault: "NotAuthenticated"}, "NotAuthenticated"},
		{Call{Status: 503}, "HTTP 503"},
		{Call{}, "no answer"},
		{Call{Status: 200}, "no answer"},
	} {
		tc.call.Method, tc.call.Client = "M", "c"
		if s.add(tc.call); last() != tc.want {
			t.Errorf("after %+v: %q, want %q", tc.call, last(), tc.want)
		}
	}
}

// The newest is the one that ended last, not the one that was counted last.
func TestLast(t *testing.T) {
	s, now := newStats(), time.Now()
	s.add(Call{Start: now, Duration: time.Second})
	s.add(Call{Start: now.Add(-time.Minute), Duration: time.Second})
	if got := s.by[statKey{}].Last; !got.Equal(now.Add(time.Second)) {
		t.Errorf("last %s, want %s", got, now.Add(time.Second))
	}
}

func TestWaitStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{stats: newStats()}
		type answer struct {
			methods []string
			n       int64
			err     error
		}
		answers := make(chan answer)
		ctx, cancel := context.WithCancel(t.Context())
		ask := func(after int64) {
			changed, n, err := g.WaitStats(ctx, after)
			a := answer{n: n, err: err}
			for _, st := range changed {
				a.methods = append(a.methods, st.Method)
			}
			answers <- a
		}
		reported := func(want ...string) (n int64) {
			t.Helper()
			a := <-answers
			if d := cmp.Diff(want, a.methods); d != "" || a.err != nil {
				t.Errorf("%v\n%s", a.err, d)
			}
			return a.n
		}
		go ask(0)
		synctest.Wait() // it waits now
		g.stats.add(Call{Method: "B", Status: 200})
		n := reported("B")
		g.stats.add(Call{Method: "A", Status: 200})
		g.stats.add(Call{Method: "C", Status: 200})
		g.stats.add(Call{Method: "A", Status: 200})
		go ask(n)
		if n = reported("A", "C"); n != 4 {
			t.Errorf("%d calls, want 4", n)
		}
		go ask(n)
		synctest.Wait()
		cancel()
		if a := <-answers; !errors.Is(a.err, context.Canceled) || a.n != 4 {
			t.Errorf("ended with %+v", a)
		}
	})
}
