package gate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A second's worth may come at once, and then as many as fit into the time.
func TestBucket(t *testing.T) {
	start := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		rate float64
		at   []time.Duration
		want string
	}{
		{2, []time.Duration{0, 0, 0, 400 * time.Millisecond, 500 * time.Millisecond, 600 * time.Millisecond, time.Second}, "1100101"},
		{0.5, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 9 * time.Second, 9 * time.Second}, "101010"},
	} {
		var b bucket
		var got strings.Builder
		for _, at := range tc.at {
			if b.take(tc.rate, start.Add(at)) {
				got.WriteByte('1')
			} else {
				got.WriteByte('0')
			}
		}
		if d := cmp.Diff(tc.want, got.String()); d != "" {
			t.Errorf("rate %v: %s", tc.rate, d)
		}
	}
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		h, err := NewHandler(served, Options{}, Rule{Match: Match{Client: "busy"}, Action: Throttle{Rate: 2, Code: 429}})
		if err != nil {
			t.Fatal(err)
		}
		call := func(client string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/session", nil)
			r.Header.Set("User-Agent", client)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusOK && w.Header().Get("Retry-After") == "" {
				t.Error("nobody says when to come again")
			}
			return w.Code
		}
		var got []int
		for range 3 {
			got = append(got, call("busy/1"))
		}
		got = append(got, call("other"))
		time.Sleep(time.Second)
		got = append(got, call("busy/1"))
		if d := cmp.Diff([]int{200, 200, 429, 200, 200}, got); d != "" {
			t.Error(d)
		}
	})
}

// Each session is good for so many calls, one after the other.
func TestDropSessionAfter(t *testing.T) {
	e := (&Gate{}).newEntry(Rule{Action: DropSession{After: 2}})
	var got []string
	for _, session := range []string{"a", "a", "b", "a", "a", "b", "b", "a", "a"} {
		hit, _ := e.draw(session)
		got = append(got, fmt.Sprint(session, hit))
	}
	want := []string{"afalse", "afalse", "bfalse", "atrue", "afalse", "bfalse", "btrue", "afalse", "atrue"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestThrottleIsChecked(t *testing.T) {
	for _, a := range []Action{Throttle{}, Throttle{Rate: -1}, Throttle{Rate: 1, Code: 200}, DropSession{After: -1}} {
		if err := (Rule{Action: a}).Validate(); err == nil {
			t.Errorf("%#v is allowed", a)
		}
	}
}
