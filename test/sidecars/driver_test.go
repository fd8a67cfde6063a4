package sidecars

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

const zoneKey = names.TopologyPrefix + "k8s-zone"

// memoryDriver is a driver whose volumes are entries of a map, wherever the pod is.
type memoryDriver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer

	mu        sync.Mutex
	next      int
	volumes   map[string]*disk
	snapshots map[string]string // the volume of each
}

type disk struct {
	name     string
	capacity int64
	node     string // empty while it is attached to none
	zone     string
	metadata map[string]string
	source   string // the snapshot
}

// serve serves it until the test ends.
func serve(t *testing.T, socket string) *memoryDriver {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	m := &memoryDriver{volumes: map[string]*disk{}, snapshots: map[string]string{}}
	s := grpc.NewServer()
	csi.RegisterIdentityServer(s, m)
	csi.RegisterControllerServer(s, m)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }() // it ends by Stop alone
	t.Cleanup(func() { s.Stop(); <-done })
	return m
}

// look calls f while nothing changes.
func (m *memoryDriver) look(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (*memoryDriver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: names.Driver, VendorVersion: "test"}, nil
}

func (*memoryDriver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (*memoryDriver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	answer := &csi.GetPluginCapabilitiesResponse{}
	for _, c := range []csi.PluginCapability_Service_Type{
		csi.PluginCapability_Service_CONTROLLER_SERVICE, csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.PluginCapability{
			Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: c}},
		})
	}
	return answer, nil
}

func (*memoryDriver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, c := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME, csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_LIST_VOLUMES, csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: c}},
		})
	}
	return answer, nil
}

func (m *memoryDriver) CreateVolume(_ context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := ""
	for other, v := range m.volumes {
		if v.name == r.GetName() {
			id = other
		}
	}
	if id == "" {
		m.next++
		id = fmt.Sprint("volume-", m.next)
		m.volumes[id] = &disk{
			name: r.GetName(), capacity: r.GetCapacityRange().GetRequiredBytes(), metadata: r.GetParameters(),
			zone:   r.GetAccessibilityRequirements().GetPreferred()[0].GetSegments()[zoneKey],
			source: r.GetVolumeContentSource().GetSnapshot().GetSnapshotId(),
		}
	}
	v := m.volumes[id]
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId: id, CapacityBytes: v.capacity, ContentSource: r.GetVolumeContentSource(),
		AccessibleTopology: []*csi.Topology{{Segments: map[string]string{zoneKey: v.zone}}},
	}}, nil
}

func (m *memoryDriver) DeleteVolume(_ context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	m.look(func() { delete(m.volumes, r.GetVolumeId()) })
	return &csi.DeleteVolumeResponse{}, nil
}

func (m *memoryDriver) ControllerPublishVolume(_ context.Context, r *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	m.look(func() { m.volumes[r.GetVolumeId()].node = r.GetNodeId() })
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{names.DiskUUID: "6000c29"}}, nil
}

func (m *memoryDriver) ControllerUnpublishVolume(_ context.Context, r *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	m.look(func() { m.volumes[r.GetVolumeId()].node = "" })
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

func (m *memoryDriver) ControllerExpandVolume(_ context.Context, r *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	size := r.GetCapacityRange().GetRequiredBytes()
	m.look(func() { m.volumes[r.GetVolumeId()].capacity = size })
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: size}, nil
}

func (m *memoryDriver) ListVolumes(context.Context, *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer := &csi.ListVolumesResponse{}
	for id, v := range m.volumes {
		if v.node != "" {
			answer.Entries = append(answer.Entries, &csi.ListVolumesResponse_Entry{
				Volume: &csi.Volume{VolumeId: id}, Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: []string{v.node}},
			})
		}
	}
	slices.SortFunc(answer.Entries, func(a, b *csi.ListVolumesResponse_Entry) int {
		return len(a.GetVolume().GetVolumeId()) - len(b.GetVolume().GetVolumeId())
	})
	return answer, nil
}

func (m *memoryDriver) CreateSnapshot(_ context.Context, r *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	id := names.SnapshotID(r.GetSourceVolumeId(), r.GetName())
	m.look(func() { m.snapshots[id] = r.GetSourceVolumeId() })
	return &csi.CreateSnapshotResponse{Snapshot: &csi.Snapshot{
		SnapshotId: id, SourceVolumeId: r.GetSourceVolumeId(), CreationTime: timestamppb.Now(), ReadyToUse: true,
	}}, nil
}

func (m *memoryDriver) DeleteSnapshot(_ context.Context, r *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	m.look(func() { delete(m.snapshots, r.GetSnapshotId()) })
	return &csi.DeleteSnapshotResponse{}, nil
}
