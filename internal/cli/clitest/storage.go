package clitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Storage is what was asked for of volumes and of nodes that are out of service.
type Storage struct {
	Volumes      []api.VolumeRequest
	OutOfService []api.OutOfServiceRequest
}

// StorageRequests returns it.
func (s *Server) StorageRequests() Storage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storage
}

func (s *Server) routeStorage(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/volume", func(w http.ResponseWriter, r *http.Request) {
		var req api.VolumeRequest
		s.confirm(w, r, &req, &req.Confirmed, func() string {
			s.storage.Volumes = append(s.storage.Volumes, req)
			return string(req.Action) + " done to " + req.Volume
		})
	})
	mux.HandleFunc("POST /v1/out-of-service", func(w http.ResponseWriter, r *http.Request) {
		var req api.OutOfServiceRequest
		s.change(w, r, &req, func() string {
			s.storage.OutOfService = append(s.storage.OutOfService, req)
			return "node " + req.Node
		})
	})
	mux.HandleFunc("POST /v1/volume-path", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.Path{Volume: "pvc-1", Node: "worker-1.example", Pod: "pod-uid", Path: "/state/default/nodes/eu.vm-21/mount"})
	})
}

// datastores and volumes are those of [ZonesUSEU].
func datastores() []api.Datastore {
	return []api.Datastore{
		{Name: "us-west-ds", VCenter: "us", Datacenter: "dcwest", Path: "/dcwest/datastore/us-west-ds", MoRef: "datastore-31", URL: "ds:///vmfs/volumes/5f1-0001/", Type: "VMFS", CapacityBytes: 1 << 40, FreeBytes: 1 << 39, Accessible: true, Maintenance: "normal", Hosts: []string{"esx-1", "esx-2"}, Zones: []string{"us-west"}},
		{Name: "eu-all-ds", VCenter: "eu", Datacenter: "dceu", Path: "/folder/dceu/datastore/eu-all-ds", MoRef: "datastore-31", URL: "ds:///vmfs/volumes/5f1-0002/", Type: "vsan", CapacityBytes: 1 << 40, FreeBytes: 1 << 40, Accessible: true, Maintenance: "normal", Hosts: []string{"esx-3"}, Zones: []string{"eu-all"}, Volumes: 1},
	}
}

func volumes() []api.Volume {
	return []api.Volume{
		{Name: "default/logs", Phase: "Pending", Claim: "default/logs", StorageClass: "vsphere", CapacityBytes: 5 << 30, State: api.VolumePending, Waits: "csi-provisioner"},
		{Name: "pvc-1", Phase: "Bound", Claim: "default/data", Driver: "csi.vsphere.vmware.com", Handle: "6c1e2a0f-0001", StorageClass: "vsphere", CapacityBytes: 1 << 30, VCenter: "eu", Datastore: "eu-all-ds", VM: "worker-1", Node: "worker-1.example", Attached: true, Pods: []string{"default/db-0"}, State: api.VolumeInUse},
	}
}

// Injected returns the faults that were asked for.
func (s *Server) Injected() []api.InjectRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.injected)
}

// Healed returns the heal requests.
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
		s.notify(api.Update{Lease: &l})
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
				return nil, &api.Error{Code: "not-found", Message: fmt.Sprintf("lease %q does not exist", id), Try: "vsphere-sandbox fault leases"}
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
				s.notify(api.Update{Lease: &answer})
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

// recording streams a recording of the world as it is and then of all updates, each line at [Now].
func (s *Server) recording(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	status, rows, events, reported, fail := s.world.Status, rowsOf(s.world), s.world.Events, len(s.reported), s.fail
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
		grown, more := s.grown, s.reported[reported:]
		reported = len(s.reported)
		s.mu.Unlock()
		if put(more...); len(more) == 0 && !s.wait(r.Context(), grown) {
			return
		}
	}
}
