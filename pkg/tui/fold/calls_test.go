package fold_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

func calls(vcenter, client, method string, n, errors uint64, latency time.Duration) api.Update {
	return api.Update{Calls: &api.Calls{VCenter: vcenter, Client: client, Method: method, Calls: n, Errors: errors, Latency: api.Duration(latency), LastError: "refused"}}
}

func TestRates(t *testing.T) {
	s := lab(calls("us", "ccm", "Login", 100, 5, time.Minute)) // long ago
	one := func() fold.Call {
		t.Helper()
		if len(s.Calls()) != 1 {
			t.Fatalf("%+v", s.Calls())
		}
		return s.Calls()[0]
	}
	is := func(rate, failing float64, mean time.Duration) {
		t.Helper()
		if c := one(); math.Abs(c.Rate-rate) > 1e-9 || math.Abs(c.Failing-failing) > 1e-9 || c.Mean != mean {
			t.Errorf("%v/s, %v/s failing, %s", c.Rate, c.Failing, c.Mean)
		}
	}
	is(0, 0, 0)
	if s.NextTick() != 0 {
		t.Errorf("something changes in %s", s.NextTick())
	}
	moves(t, s, func() { after(s, time.Second, calls("us", "ccm", "Login", 110, 5, time.Minute+100*time.Millisecond)) }, fold.Calls)
	is(1, 0, 10*time.Millisecond)
	after(s, 4*time.Second, calls("us", "ccm", "Login", 120, 8, time.Minute+400*time.Millisecond))
	is(2, 0.3, 20*time.Millisecond)
	if one().Calls.Calls != 120 || s.NextTick() != 7*time.Second {
		t.Errorf("%+v, next in %s", one(), s.NextTick())
	}
	moves(t, s, func() { tick(s, 11*time.Second-1) })
	is(2, 0.3, 20*time.Millisecond)
	moves(t, s, func() { tick(s, 11*time.Second) }, fold.Calls)
	is(1, 0.3, 30*time.Millisecond)
	moves(t, s, func() { tick(s, 14*time.Second) }, fold.Calls)
	is(0, 0, 0)
	if s.NextTick() != 0 {
		t.Errorf("something changes in %s", s.NextTick())
	}

	after(s, 20*time.Second, calls("us", "ccm", "Login", 3, 1, 30*time.Millisecond)) // the vCenter was restarted
	is(0.3, 0.1, 10*time.Millisecond)
	after(s, 21*time.Second, calls("us", "ccm", "Login", 3, 1, 30*time.Millisecond)) // repeated
	is(0.3, 0.1, 10*time.Millisecond)
	after(s, 22*time.Second, api.Update{Calls: &api.Calls{VCenter: "us", Client: "ccm", Method: "Login"}, Deleted: true})
	if len(s.Calls()) != 0 {
		t.Errorf("%+v", s.Calls())
	}
	tick(s, time.Minute)
}

// TestCallsAfterACut: calls that arrive when a stream is reopened happened at an unknown time: they are counted, and make no
// rate.
func TestCallsAfterACut(t *testing.T) {
	s := lab(calls("us", "ccm", "Login", 100, 0, 0))
	s.Cut(fmt.Errorf("gone"))
	after(s, time.Minute, calls("us", "ccm", "Login", 10_000, 0, 0), api.Update{Synced: true})
	after(s, 2*time.Minute, calls("us", "ccm", "Login", 10_010, 0, 0))
	if c := s.Calls()[0]; c.Calls.Calls != 10_010 || c.Rate != 1 || len(s.Bursts()) != 1 {
		t.Errorf("%+v, %d bursts", c, len(s.Bursts()))
	}
}

func TestSums(t *testing.T) {
	s := lab()
	after(s, time.Second,
		calls("us", "csi", "CnsQueryVolume", 10, 0, 100*time.Millisecond), calls("us", "ccm", "Login", 20, 10, 400*time.Millisecond),
		calls("eu", "ccm", "Login", 10, 0, 200*time.Millisecond), calls("us", "ccm", "Logout", 10, 0, 200*time.Millisecond),
	)
	names := func(list []fold.Call) (all []string) {
		for _, c := range list {
			all = append(all, fmt.Sprintf("%s %s %s: %d, %d errors, %g/s, %g/s failing, %s", c.VCenter, c.Client, c.Method, c.Calls.Calls, c.Errors, c.Rate, c.Failing, c.Mean))
		}
		return all
	}
	for _, tc := range []struct {
		name string
		got  []fold.Call
		want []string
	}{
		{"calls", s.Calls(), []string{
			"eu ccm Login: 10, 0 errors, 1/s, 0/s failing, 20ms", "us ccm Login: 20, 10 errors, 2/s, 1/s failing, 20ms",
			"us ccm Logout: 10, 0 errors, 1/s, 0/s failing, 20ms", "us csi CnsQueryVolume: 10, 0 errors, 1/s, 0/s failing, 10ms",
		}},
		{"clients", s.Clients(), []string{" ccm : 40, 10 errors, 4/s, 1/s failing, 20ms", " csi : 10, 0 errors, 1/s, 0/s failing, 10ms"}},
		{"vcenters", s.VCenters(), []string{
			"eu ccm : 10, 0 errors, 1/s, 0/s failing, 20ms", "us ccm : 30, 10 errors, 3/s, 1/s failing, 20ms", "us csi : 10, 0 errors, 1/s, 0/s failing, 10ms",
		}},
	} {
		if diff := cmp.Diff(tc.want, names(tc.got)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

func TestBursts(t *testing.T) {
	s := lab()
	after(s, time.Second, calls("us", "ccm", "Login", 4, 1, 40*time.Millisecond))
	after(s, 2*time.Second, calls("us", "ccm", "Login", 6, 1, 100*time.Millisecond))
	want := []fold.Burst{
		{Seq: 1, At: began.Add(time.Second), VCenter: "us", Client: "ccm", Method: "Login", Calls: 4, Errors: 1, Mean: 10 * time.Millisecond, Error: "refused"},
		{Seq: 2, At: began.Add(2 * time.Second), VCenter: "us", Client: "ccm", Method: "Login", Calls: 2, Mean: 30 * time.Millisecond},
	}
	if diff := cmp.Diff(want, s.Bursts()); diff != "" {
		t.Error(diff)
	}
	held := s.Bursts()
	for i := range uint64(2 * fold.KeepBursts) {
		after(s, 3*time.Second+time.Duration(i)*time.Millisecond, calls("us", "ccm", "Login", 7+i, 1, 0))
	}
	if n := len(s.Bursts()); n != fold.KeepBursts || s.Bursts()[n-1].Seq != 2+2*fold.KeepBursts {
		t.Errorf("%d bursts, the last is %+v", n, s.Bursts()[n-1])
	}
	if cap(s.Bursts()) > 2*fold.KeepBursts {
		t.Errorf("room for %d bursts", cap(s.Bursts()))
	}
	if diff := cmp.Diff(want, held); diff != "" {
		t.Errorf("what was given changed: %s", diff)
	}
}
