package sandbox

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Calls are streamed as they are listed, with their outcomes.
func TestCallsAreReported(t *testing.T) {
	s, c := withFaults(t)
	w := watch(t, c, 0)
	w.next("synced", func(u api.Update) bool { return u.Synced })
	eu := s.vcenters.Find("eu")
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
	reported := w.next("three calls", func(u api.Update) bool { return u.Calls != nil && u.Calls.Client == "tester/1" && u.Calls.Calls == 3 }).Calls
	if reported.VCenter != "eu" || reported.Errors != 3 || reported.LastError == "" || reported.Latency <= 0 || time.Since(reported.Last) > time.Minute {
		t.Errorf("told %+v", reported)
	}
	listed, err := c.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(listed, func(row api.Calls) bool { return row.Client == "tester/1" })
	if i < 0 || !cmp.Equal(listed[i], *reported) {
		t.Errorf("listed %+v, told %+v", listed, reported)
	}
}
