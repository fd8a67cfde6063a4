package apis

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestNFC: leases of other vCenters, and of ended sessions, are not there.
func TestNFC(t *testing.T) {
	n := &NFC{Open: func(session string) bool { return session == "open" }}
	for call, want := range map[string]int{
		"GET /nfc/session[open]x/disk":       http.StatusNotFound, // no such lease
		"GET /nfc/session[other]x/disk":      http.StatusNotFound,
		"GET /nfc/session[open/disk":         http.StatusNotFound,
		"GET /nfc/":                          http.StatusNotFound,
		"GET /nfc/session[open]x":            http.StatusNotFound,
		"GET /nfc/session[open]x/../disk/y":  http.StatusNotFound,
		"DELETE /nfc/session[open]x/disk":    http.StatusMethodNotAllowed,
		"OPTIONS /nfc/session[other]x/disk":  http.StatusNotFound,
		"PUT /nfc/session[open]x/disk-0.raw": http.StatusNotFound,
	} {
		var method, path string
		for i, c := range call {
			if c == ' ' {
				method, path = call[:i], call[i+1:]
				break
			}
		}
		r := httptest.NewRequestWithContext(t.Context(), method, "/", http.NoBody)
		r.URL.Path = path
		w := httptest.NewRecorder()
		n.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", call, w.Code, want)
		}
	}
	n.End("open")
	n.leases.Range(func(lease, _ any) bool {
		t.Errorf("%s stays", lease)
		return true
	})
}
