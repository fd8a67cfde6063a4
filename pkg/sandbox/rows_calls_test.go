package sandbox

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// Calls are told as they are listed, with what came of them.
func TestCallsAreTold(t *testing.T) {
	s, c := withFaults(t)
	w := watch(t, c, 0)
	w.next("synced", func(u api.Update) bool { return u.Synced })
	eu := s.watchedVCenter("eu")
	outside := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for range 3 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, eu.URL().ResolveReference(&url.URL{Path: "/rest/nothing"}).String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User-Agent", "tester/1")
		answer, err := outside.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	told := w.next("three calls", func(u api.Update) bool { return u.Calls != nil && u.Calls.Client == "tester/1" && u.Calls.Calls == 3 }).Calls
	if told.VCenter != "eu" || told.Errors != 3 || told.LastError == "" || told.Latency <= 0 || time.Since(told.Last) > time.Minute {
		t.Errorf("told %+v", told)
	}
	listed, err := c.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(listed, func(row api.Calls) bool { return row.Client == "tester/1" })
	if i < 0 || !cmp.Equal(listed[i], *told) {
		t.Errorf("listed %+v, told %+v", listed, told)
	}
}

// Each count is told once a second at most, and none that has not changed.
func TestCallsAreToldSparingly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r rows
		_, reader := r.read()
		told := func() int {
			lines, _ := r.take(reader)
			return len(lines)
		}
		a, b := gate.Stat{Method: "A", Client: "x/y", Calls: 1}, gate.Stat{Method: "y/A", Client: "x", Calls: 1}
		r.calls("us", []gate.Stat{a, b})
		if n := told(); n != 2 {
			t.Errorf("told %d, want 2", n)
		}
		r.calls("us", []gate.Stat{a, b})
		if n := told(); n != 0 {
			t.Errorf("told %d that have not changed", n)
		}
		b.Calls, b.LastError, b.Errors, b.Hits, b.Latency, b.Last = 3, "NotAuthenticated", 2, 1, time.Second, time.Now()
		r.calls("us", []gate.Stat{b})
		want := api.Calls{VCenter: "us", Client: "x", Method: "y/A", Calls: 3, Errors: 2, Hits: 1, Latency: api.Duration(time.Second), Last: b.Last, LastError: "NotAuthenticated"}
		if d := cmp.Diff(want, *r.table["calls/us\x00x\x00y/A"].update.Calls); d != "" || told() != 1 {
			t.Errorf("(-want +told):\n%s", d)
		}
	})
}
