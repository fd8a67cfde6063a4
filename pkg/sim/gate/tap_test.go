package gate_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func TestTap(t *testing.T) {
	g := open(t, nil)
	exchanges := make(chan gate.Exchange, 8)
	stop := g.Tap(func(e gate.Exchange) { exchanges <- e })
	post := func() {
		if _, err := g.post(t.Context(), "/sdk"); err != nil {
			t.Fatal(err)
		}
	}
	post()
	if e := <-exchanges; e.Method != "CurrentTime" || e.Verb != http.MethodPost || e.URI != "/sdk" || string(e.Request) != envelope || string(e.Answer) != envelope || e.Cut || e.RequestHeader.Get("User-Agent") != "tester/1" {
		t.Errorf("got %+v", e)
	}
	if _, err := g.Add(gate.Rule{Action: gate.HTTPStatus{Code: http.StatusServiceUnavailable, Body: "busy"}}); err != nil {
		t.Fatal(err)
	}
	post()
	if e := <-exchanges; e.Status != http.StatusServiceUnavailable || !strings.HasPrefix(string(e.Answer), "busy") || !e.Hit {
		t.Errorf("got %+v", e)
	}
	stop()
	post()
	if len(exchanges) != 0 {
		t.Error("an exchange after the end")
	}
}

// TestTapCostsNothing: a gate that had a tap, and one that never had, allocate the same.
func TestTapCostsNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	h, g := gate.NewHandlerOf(http.HandlerFunc(discard), hooks())
	measure := func() float64 {
		return testing.AllocsPerRun(200, func() {
			r := httptest.NewRequest(http.MethodPost, "/sdk", strings.NewReader(retrieval))
			r.Header.Set("Content-Type", "text/xml")
			h.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	never := measure()
	stop := g.Tap(func(gate.Exchange) {})
	tapped := measure()
	stop()
	if after := measure(); after != never {
		t.Errorf("%.1f allocations a call, %.1f before the tap", after, never)
	}
	if n := gate.AllocsOfNoTap(); n != 0 {
		t.Errorf("a gate without tap makes %.1f allocations for it", n)
	}
	t.Logf("%.0f allocations a call, %.0f with a tap", never, tapped)
}
