package clitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Server is a sandbox that serves a [World]. Its methods may be called from any goroutine.
type Server struct {
	// Socket is where it listens.
	Socket string

	mu       sync.Mutex
	world    World
	grown    chan struct{} // closed and replaced with each event
	vms      []api.VMRequest
	storage  Storage
	gates    []api.GateRequest
	applied  []api.ApplyRequest
	injected []api.InjectRequest
	healed   []api.HealRequest
	reported []api.Update // rows, for watching clients
	stuck    int          // the step that cannot be done; 0: none
	fail     *api.Error
	asks     *api.Error // the answer to an unconfirmed request, as on real vCenters; or nil
	ended    chan struct{}
}

// Serve starts a server, which ends with the test.
func Serve(t *testing.T, w World) *Server {
	t.Helper()
	// Not t.TempDir(): its path may be too long for a socket.
	dir, err := os.MkdirTemp("", "clitest")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		Socket: filepath.Join(dir, "s"), world: w, grown: make(chan struct{}), ended: make(chan struct{}),
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s.handler()}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		s.End()
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	return s
}

// Change changes the world and sends an event for it.
func (s *Server) Change(f func(*World), e api.EventLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.world)
	if n := len(s.world.Events); e.Seq == 0 && n > 0 {
		e.Seq = s.world.Events[n-1].Seq + 1
	}
	s.world.Events = append(s.world.Events, e)
	close(s.grown)
	s.grown = make(chan struct{})
}

// Refuse makes every request to change something end in e.
func (s *Server) Refuse(e *api.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = e
}

// Unconfirmed makes every request about VMs, volumes and faults that is not confirmed end in a message, as a sandbox on real
// vCenters does. The draw of a fault that it asks about is 7.
func (s *Server) Unconfirmed(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks = &api.Error{Code: "unconfirmed", Message: message, Try: "the same with --yes", Seed: 7}
}

// End ends all event streams, as the end of a sandbox does.
func (s *Server) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
	default:
		close(s.ended)
	}
}

// VMRequests returns what was asked for of VMs.
func (s *Server) VMRequests() []api.VMRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vms
}

// GateRequests returns what was asked for of vCenters.
func (s *Server) GateRequests() []api.GateRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gates
}

// Applied returns the topologies of apply requests.
func (s *Server) Applied() []api.ApplyRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.applied
}

// BlockStep makes the nth step of a topology end in the error of [Server.Refuse] or, without one, take for ever.
func (s *Server) BlockStep(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = n
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for path, part := range map[string]func(World) any{
		"status": func(w World) any {
			if n := len(w.Events); n > 0 {
				w.Status.LastEvent = w.Events[n-1].Seq
			}
			return w.Status
		},
		"vcenters":    func(w World) any { return w.VCenters },
		"datacenters": func(w World) any { return w.Datacenters },
		"hosts":       func(w World) any { return w.Hosts },
		"vms":         func(w World) any { return w.VMs },
		"nodes":       func(w World) any { return w.Nodes },
		"zones":       func(w World) any { return w.Zones },
		"access":      func(w World) any { return w.Access },
		"secrets":     World.secrets,
		"leases":      func(w World) any { return w.Leases },
		"calls":       func(w World) any { return w.Calls },
		"datastores":  func(w World) any { return w.Datastores },
		"volumes":     func(w World) any { return w.Volumes },
		"nsx":         func(w World) any { return w.NSX },

		"virtualmachines":        func(w World) any { return w.Machines },
		"virtualmachineservices": func(w World) any { return w.Balancers },
	} {
		mux.HandleFunc("GET /v1/"+path, func(w http.ResponseWriter, _ *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			_ = json.NewEncoder(w).Encode(part(s.world))
		})
	}
	mux.HandleFunc("GET /v1/events", s.events)
	mux.HandleFunc("POST /v1/vm", func(w http.ResponseWriter, r *http.Request) {
		var req api.VMRequest
		s.confirm(w, r, &req, &req.Confirmed, func() string {
			s.vms = append(s.vms, req)
			return string(req.Action) + " done to " + req.VM
		})
	})
	mux.HandleFunc("POST /v1/gate", func(w http.ResponseWriter, r *http.Request) {
		var req api.GateRequest
		s.change(w, r, &req, func() string {
			s.gates = append(s.gates, req)
			return "vcenter " + req.VCenter + " is " + req.Mode
		})
	})
	s.routeStorage(mux)
	s.routeExplain(mux)
	mux.HandleFunc("POST /v1/topology", s.apply)
	mux.HandleFunc("POST /v1/faults", s.inject)
	mux.HandleFunc("POST /v1/heal", s.heal)
	mux.HandleFunc("GET /v1/watch", s.watch)
	mux.HandleFunc("GET /v1/recording", s.recording)
	return mux
}

func (s *Server) apply(w http.ResponseWriter, r *http.Request) {
	var req api.ApplyRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.applied = append(s.applied, req)
	changes, stuck, fail := s.world.Changes, s.stuck, s.fail
	s.mu.Unlock()
	if fail != nil && stuck == 0 {
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(fail)
		return
	}
	notify := func(line api.ApplyLine) {
		_ = json.NewEncoder(w).Encode(line)
		_ = http.NewResponseController(w).Flush()
	}
	notify(api.ApplyLine{Changes: changes})
	last := api.ApplyLine{End: true}
	if !req.DryRun {
		for i := range changes {
			if i+1 == stuck {
				if fail == nil {
					<-r.Context().Done()
					return
				}
				last.Error = fail
				break
			}
			last.Done = i + 1
			notify(api.ApplyLine{Done: i + 1})
		}
	}
	notify(last)
}

// change answers a request to change something.
func (s *Server) change(w http.ResponseWriter, r *http.Request, req any, note func() string) {
	if err := json.NewDecoder(r.Body).Decode(req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(s.fail)
		return
	}
	_ = json.NewEncoder(w).Encode(api.Done{Message: note(), Seq: 77})
}

// confirm is change for what has to be confirmed where vCenters are real. What was asked is noted in any case.
func (s *Server) confirm(w http.ResponseWriter, r *http.Request, req any, confirmed *bool, note func() string) {
	s.answer(w, r, req, func() (any, *api.Error) {
		message := note()
		if s.asks != nil && !*confirmed {
			return nil, s.asks
		}
		return api.Done{Message: message, Seq: 77}, nil
	})
}

func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseUint(r.FormValue("after"), 10, 64)
	follow := r.FormValue("follow") == "true"
	for {
		lines, grown := s.after(after)
		for _, line := range lines {
			if json.NewEncoder(w).Encode(line) != nil {
				return
			}
			after = line.Seq
		}
		if !follow {
			return
		}
		if http.NewResponseController(w).Flush() != nil || !s.wait(r.Context(), grown) {
			return
		}
	}
}

func (s *Server) after(seq uint64) (lines []api.EventLine, grown chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.world.Events {
		if line.Seq > seq {
			lines = append(lines, line)
		}
	}
	return lines, s.grown
}

func (s *Server) wait(ctx context.Context, grown chan struct{}) bool {
	select {
	case <-grown:
		return true
	case <-s.ended:
	case <-ctx.Done():
	}
	return false
}

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

// nsxObjects are those of one Service.
func nsxObjects() []api.NSXObject {
	return []api.NSXObject{
		{Type: "IpAddressAllocation", Name: "a1", Path: "/infra/ip-pools/services/ip-allocations/a1", State: "REALIZED", Address: "127.1.0.101", Service: "default/web", User: "cloud-controller-manager", Object: map[string]any{"id": "a1"}},
		{Type: "LBVirtualServer", Name: "cluster:kubernetes:default/web", Path: "/infra/lb-virtual-servers/v1", State: "ERROR", Error: "the virtual server /infra/lb-virtual-servers/v0 has the same address and port", Address: "127.1.0.101", Service: "default/web", Revision: 2, User: "cloud-controller-manager", Object: map[string]any{"id": "v1"}},
		{Type: "Tier1", Name: "workload", Path: "/infra/tier-1s/workload", State: "REALIZED", User: "admin", Object: map[string]any{"id": "workload"}},
	}
}

// machines are VirtualMachines of a guest cluster: one that is a node, and one that cannot be made.
func machines() []api.VirtualMachine {
	return []api.VirtualMachine{
		{
			Name: "worker-1", Namespace: "team-a", Guest: "guest", VCenter: "us", VM: "worker-1", Node: "worker-1.example", Power: "PoweredOn", WantedPower: "PoweredOff",
			BIOSUUID: "4237d1b0-0000-4000-8000-000000000001", Addresses: []string{"198.18.6.171"}, Zone: "us-west", Class: "best-effort-small",
			Conditions: []api.Condition{{Type: "VirtualMachineCreated", Status: "True"}, {Type: "VirtualMachineTools", Status: "False", Reason: "VirtualMachineToolsNotRunning"}},
			Object:     map[string]any{"kind": "VirtualMachine"},
		},
		{
			Name: "worker-2", Namespace: "team-a", Guest: "guest", WantedPower: "PoweredOn", Class: "huge",
			Conditions: []api.Condition{{Type: "VirtualMachineClassReady", Status: "False", Reason: "NotFound", Message: `VirtualMachineClass "huge" not found in namespace team-a`}},
			Object:     map[string]any{"kind": "VirtualMachine"},
		},
	}
}

// balancers are VirtualMachineServices: one that answers, and one that gets no address.
func balancers() []api.VirtualMachineService {
	return []api.VirtualMachineService{
		{Name: "guest-1", Namespace: "team-a", Guest: "guest", Service: "default/web", Type: "LoadBalancer", Ports: []string{"80→31080/TCP"}, Ingress: []string{"127.1.0.101"}, Endpoints: []string{"worker-1 (198.18.6.171)"}, Object: map[string]any{"kind": "VirtualMachineService"}},
		{Name: "guest-2", Namespace: "team-a", Guest: "guest", Service: "default/api", Type: "LoadBalancer", Ports: []string{"443→31443/TCP"}, Pending: "the load balancer has no free address", Events: []string{"LoadBalancerFailed: the load balancer has no free address"}, Object: map[string]any{"kind": "VirtualMachineService"}},
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
				return nil, &api.Error{Code: "not-found", Message: fmt.Sprintf("lease %q not found", id), Try: "vsphere-sandbox fault leases"}
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
		APIVersion: api.RecordingVersion, Kind: api.RecordingKind, Sandbox: status.Name, Topology: status.Topology, Speed: status.Speed,
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
