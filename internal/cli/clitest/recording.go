package clitest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// recording streams a recording that begins with the world as it is and goes on with what is told, each line at [Now].
func (s *Server) recording(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	status, rows, events, told, fail := s.world.Status, rowsOf(s.world), s.world.Events, len(s.told), s.fail
	s.mu.Unlock()
	if fail != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(fail)
		return
	}
	enc := json.NewEncoder(w)
	put := func(list ...api.Update) {
		for _, u := range list {
			_ = enc.Encode(api.Recorded{Time: Now, Update: u})
		}
	}
	_ = enc.Encode(api.Recording{
		APIVersion: api.RecordingVersion, Kind: api.RecordingKind, Sandbox: status.Name, Scenario: status.Scenario, Speed: status.Speed,
		StartedAt: status.StartedAt, Version: status.Version, KubernetesVersion: status.KubernetesVersion, Began: Now.Add(-90 * time.Second),
	})
	put(rows...)
	put(api.Update{Synced: true})
	for _, e := range events {
		put(api.Update{Event: &e.Event, Lost: e.Lost})
	}
	for r.FormValue("follow") == "true" && http.NewResponseController(w).Flush() == nil {
		s.mu.Lock()
		grown, more := s.grown, s.told[told:]
		told = len(s.told)
		s.mu.Unlock()
		if put(more...); len(more) == 0 && !s.wait(r.Context(), grown) {
			return
		}
	}
}
