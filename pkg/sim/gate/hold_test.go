package gate_test

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func TestRemovedRuleReleasesWhatItHolds(t *testing.T) {
	for _, action := range []gate.Action{gate.Hang{}, gate.Latency{Delay: time.Hour, Jitter: time.Minute}} {
		f := open(t, nil)
		g := group(t)
		id := f.add(t, gate.Rule{Match: gate.Match{Methods: []string{"CurrentTime"}}, Action: action, Count: 3})
		results := make(chan error, 3)
		for range 3 {
			g.Go(func() {
				_, err := f.post(t.Context(), "/sdk")
				results <- err
			})
		}
		soon(t, "all are held", func() bool { return f.status(t, id).Hits == 3 })
		if s := f.status(t, id); s.State != gate.Spent {
			t.Errorf("%+v", s)
		}
		if _, err := f.post(t.Context(), "/sdk"); err != nil { // the fourth is none of its business
			t.Error(err)
		}
		select {
		case err := <-results:
			t.Fatalf("%T let go: %v", action, err)
		case <-time.After(20 * time.Millisecond):
		}
		f.remove(t, id)
		for range 3 {
			if err := <-results; err != nil {
				t.Errorf("%T: %v", action, err)
			}
		}
	}
}

// A hang that comes later holds the answer of a long poll that it matches, and of no other.
func TestHangHoldsAnswersUnderWay(t *testing.T) {
	f := open(t, nil)
	g := group(t)
	answered := make(chan error, 1)
	g.Go(func() {
		_, err := f.post(t.Context(), "/wait")
		answered <- err
	})
	<-f.backend.entered
	f.add(t, gate.Rule{Match: gate.Match{Client: "somebody else"}, Action: gate.Outage{}})
	id := f.add(t, gate.Rule{Match: gate.Match{Client: "tester*"}, Action: gate.Hang{}})
	close(f.backend.release)
	soon(t, "the answer is held", func() bool { return f.status(t, id).Hits == 1 })
	select {
	case err := <-answered:
		t.Fatalf("answered: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	if err := f.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if rules := f.Rules(); len(rules) != 0 {
		t.Errorf("%+v", rules)
	}
}

// Rules are tried in order: latency lets a call continue, the first answer is the last word.
func TestOrder(t *testing.T) {
	f := open(t, nil)
	f.add(t, gate.Rule{Name: "slow", Action: gate.Latency{Delay: 20 * time.Millisecond}})
	f.add(t, gate.Rule{Name: "first", Action: gate.HTTPStatus{Code: 502}, Count: 1})
	f.add(t, gate.Rule{Name: "second", Action: gate.HTTPStatus{Code: 503}, Skip: 1, Count: 1})
	f.add(t, gate.Rule{Name: "half", Action: gate.Reset{}, Count: 1})
	f.add(t, gate.Rule{Name: "never", Action: gate.Hang{}, Skip: 100})
	var got []int
	for range 5 {
		res, err := f.client.Get("https://" + f.Addr() + "/silent")
		if err != nil {
			got = append(got, 0)
			continue
		}
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			res.StatusCode = 0
		}
		got = append(got, res.StatusCode)
	}
	// "second" skips the first call that comes to it, "half" takes that one.
	if diff := cmp.Diff([]int{502, 0, 503, 200, 200}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	calls := f.Recent()
	if diff := cmp.Diff([]string{"slow", "first"}, calls[0].Rules); diff != "" || calls[0].Duration < 20*time.Millisecond {
		t.Errorf("%s, -want +got:\n%s", calls[0].Duration, diff)
	}
}
