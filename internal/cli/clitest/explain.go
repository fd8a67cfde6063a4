package clitest

import (
	"encoding/json"
	"net/http"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// routeExplain answers questions about one thing: with what the world has under KIND/NAME.
func (s *Server) routeExplain(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/explain", func(w http.ResponseWriter, r *http.Request) {
		tellOf(s, w, r, func(world World) map[string]api.Explanation { return world.Explanations })
	})
	mux.HandleFunc("POST /v1/inspect", func(w http.ResponseWriter, r *http.Request) {
		tellOf(s, w, r, func(world World) map[string]api.Inspection { return world.Inspections })
	})
}

func tellOf[T any](s *Server, w http.ResponseWriter, r *http.Request, table func(World) map[string]T) {
	var of api.Subject
	if err := json.NewDecoder(r.Body).Decode(&of); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, ok := table(s.world)[of.Kind+"/"+of.Name]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(&api.Error{Code: "not-found", Message: of.Kind + " \"" + of.Name + "\": there is none", Try: "vsphere-sandbox get " + of.Kind + "s"})
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}
