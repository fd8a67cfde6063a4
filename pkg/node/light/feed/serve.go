package feed

import (
	"encoding/json"
	"net/http"
	"time"
)

// alive is how often a source that has nothing to tell says that it is there. A reader that hears nothing for a few times
// that looks for it anew.
const alive = 10 * time.Second

// writeTimeout is how long a reader may take for a page.
const writeTimeout = time.Minute

// ServeHTTP tells a reader of all machines, and then of every change until it leaves.
func (s *Source) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r := s.read()
	defer s.forget(r)
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	enc := json.NewEncoder(w)
	tick := time.NewTicker(alive)
	defer tick.Stop()
	synced := false
	for {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a recorder in a test has none
		taken := s.take(r)
		for i := range taken {
			if enc.Encode(Line{Machine: &taken[i]}) != nil {
				return
			}
		}
		if len(taken) == page {
			continue
		}
		if !synced {
			synced = true
			if enc.Encode(Line{Synced: true}) != nil {
				return
			}
		}
		if control.Flush() != nil {
			return
		}
		select {
		case <-r.wake:
		case <-tick.C:
			if enc.Encode(Line{}) != nil {
				return
			}
		case <-req.Context().Done():
			return
		}
	}
}
