package rest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"
)

// forgetful is a Next whose sessions end at will.
type forgetful struct {
	logins   int
	sessions map[string]bool
	calls    []string
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(header)
	switch {
	case r.URL.Path == restSession && r.Method == http.MethodPost && r.URL.RawQuery == "":
		f.logins++
		id = strings.Repeat("i", f.logins)
		f.sessions[id] = true
		writeJSON(w, http.StatusOK, map[string]string{"value": id})
	case !f.sessions[id]:
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == restSession && r.Method == http.MethodDelete:
		delete(f.sessions, id)
	case r.URL.Path == restSession:
	case strings.HasSuffix(r.URL.Path, "/abort"):
		_, _ = w.Write([]byte("half"))
		panic("after the answer has begun")
	default:
		f.calls = append(f.calls, r.URL.Path+" "+id)
		writeJSON(w, http.StatusOK, "done")
	}
}

func ask(h *Handler, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set(header, "x")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestSessionWithNext(t *testing.T) {
	next := &forgetful{sessions: map[string]bool{}}
	h := New(Options{Base: simulator.NewContext(), Next: next, Sessions: anyone{}, Valid: func(string, string) bool { return true }})
	for range 3 {
		if w := ask(h, "/rest/a"); w.Code != http.StatusOK {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	}
	clear(next.sessions) // they expired
	if w := ask(h, "/rest/b"); w.Code != http.StatusOK {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if got := strings.Join(next.calls, ", "); next.logins != 2 || got != "/rest/a i, /rest/a i, /rest/a i, /rest/b ii" {
		t.Errorf("%d logins, calls %s", next.logins, got)
	}
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("panic %v", p)
			}
		}()
		ask(h, "/rest/abort")
	}()
	h.Close()
	if len(next.sessions) != 0 {
		t.Error("a session is left with Next")
	}
}

func TestNothingBehindUs(t *testing.T) {
	h := New(Options{Base: simulator.NewContext(), Sessions: anyone{}, Valid: func(string, string) bool { return true }})
	defer h.Close()
	if w := ask(h, "/api/vcenter/vm"); w.Code != http.StatusNotFound || !json.Valid(w.Body.Bytes()) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
