package clitest

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Tell sends a row to all who watch. It does not change the world: rows that a test makes up are up to it. Events are
// told by [Server.Change].
func (s *Server) Tell(u api.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(u)
}

// tell is Tell. The caller holds the lock.
func (s *Server) tell(u api.Update) {
	s.told = append(s.told, u)
	close(s.grown)
	s.grown = make(chan struct{})
}

// watch streams the world as it is, and then whatever is told.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseUint(r.FormValue("after"), 10, 64)
	s.mu.Lock()
	rows, told := rowsOf(s.world), len(s.told)
	if n := len(s.world.Events); n > 0 {
		after = min(after, s.world.Events[n-1].Seq)
	} else {
		after = 0
	}
	s.mu.Unlock()
	enc := json.NewEncoder(w)
	for synced := false; ; synced = true {
		lines, grown := s.after(after)
		s.mu.Lock()
		if synced {
			rows = append(rows, s.told[told:]...)
			told = len(s.told)
		}
		s.mu.Unlock()
		for _, line := range lines {
			rows = append(rows, api.Update{Event: &line.Event, Lost: line.Lost})
			after = line.Seq
		}
		if !synced {
			rows = append(rows, api.Update{Synced: true})
		}
		for _, u := range rows {
			if enc.Encode(u) != nil {
				return
			}
		}
		idle := synced && len(rows) == 0
		rows = nil
		if http.NewResponseController(w).Flush() != nil || idle && !s.wait(r.Context(), grown) {
			return
		}
	}
}

func rowsOf(w World) []api.Update {
	var rows []api.Update
	for _, v := range w.VCenters {
		rows = append(rows, api.Update{VCenter: &v})
	}
	for _, h := range w.Hosts {
		rows = append(rows, api.Update{Host: &h})
	}
	for _, v := range w.VMs {
		rows = append(rows, api.Update{VM: &v})
	}
	for _, n := range w.Nodes {
		rows = append(rows, api.Update{Node: &n})
	}
	for _, c := range w.Status.Components {
		rows = append(rows, api.Update{Component: &c})
	}
	for _, l := range w.Leases {
		rows = append(rows, api.Update{Lease: &l})
	}
	return rows
}
