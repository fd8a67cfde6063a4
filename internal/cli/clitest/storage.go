package clitest

import (
	"encoding/json"
	"net/http"

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
