package clitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Injected returns the faults that were asked for.
func (s *Server) Injected() []api.InjectRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.injected)
}

// Healed returns what was to be healed.
func (s *Server) Healed() []api.HealRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.healed)
}

// inject makes a lease of any request, with the targets that it names. Nothing else of the world changes.
func (s *Server) inject(w http.ResponseWriter, r *http.Request) {
	var req api.InjectRequest
	s.answer(w, r, &req, func() (any, *api.Error) {
		s.injected = append(s.injected, req)
		if s.asks != nil && !req.Confirmed && !req.DryRun {
			return nil, s.asks
		}
		l := api.Lease{Fault: req.Fault, Params: req.Params, Mode: req.Mode, Seed: req.Seed, Targets: []api.LeaseTarget{}}
		for _, name := range req.On.Names {
			l.Targets = append(l.Targets, api.LeaseTarget{Kind: "VM", VCenter: req.On.VCenter, Name: name, Does: "break it"})
		}
		if req.DryRun {
			return l, nil
		}
		l.ID, l.State, l.Since, l.Seq = fmt.Sprintf("f%d", len(s.world.Leases)+1), "active", Now, 77
		if req.For != 0 {
			until := Now.Add(time.Duration(req.For))
			l.Until = &until
		}
		for i := range l.Targets {
			l.Targets[i].State = "active"
		}
		s.world.Leases = append(s.world.Leases, l)
		s.tell(api.Update{Lease: &l})
		return l, nil
	})
}

// heal heals leases of the world.
func (s *Server) heal(w http.ResponseWriter, r *http.Request) {
	var req api.HealRequest
	s.answer(w, r, &req, func() (any, *api.Error) {
		s.healed = append(s.healed, req)
		list := []api.Lease{}
		for _, id := range req.IDs {
			if !slices.ContainsFunc(s.world.Leases, func(l api.Lease) bool { return l.ID == id }) {
				return nil, &api.Error{Code: "not-found", Message: fmt.Sprintf("lease %q: there is none of that ID", id), Try: "vsphere-sandbox fault leases"}
			}
		}
		for i := range s.world.Leases {
			l := &s.world.Leases[i]
			was := l.State == "healed"
			if !slices.Contains(req.IDs, l.ID) && (!req.All || was) {
				continue
			}
			answer := *l
			if answer.Note = "was healed already"; !was {
				ended := Now
				l.State, l.Ended, l.Targets = "healed", &ended, slices.Clone(l.Targets)
				for n := range l.Targets {
					l.Targets[n].State = "healed"
				}
				answer = *l
				s.tell(api.Update{Lease: &answer})
			}
			list = append(list, answer)
		}
		return list, nil
	})
}

// answer answers a request with what f returns.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, req any, f func() (any, *api.Error)) {
	if err := json.NewDecoder(r.Body).Decode(req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, fail := any(nil), s.fail
	if fail == nil {
		v, fail = f()
	}
	if fail != nil {
		w.WriteHeader(http.StatusConflict)
		v = fail
	}
	_ = json.NewEncoder(w).Encode(v)
}
