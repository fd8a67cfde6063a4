package identity

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// Server is the Identity service. The zero value is that of a driver that is always ready. All methods may be called
// concurrently.
type Server struct {
	csi.UnimplementedIdentityServer

	// Version is the driver's, shown to whoever asks; "dev" when empty.
	Version string
	// Ready says why the driver is not ready, nil when it is. It is called from any goroutine and must not block. Nil
	// means that it always is.
	Ready func() error
}

var _ csi.IdentityServer = (*Server)(nil)

// GetPluginInfo returns the driver's name, which is upstream's, and version.
func (s *Server) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	version := s.Version
	if version == "" {
		version = "dev"
	}
	return &csi.GetPluginInfoResponse{Name: names.Driver, VendorVersion: version}, nil
}

// GetPluginCapabilities says that there is a controller, that volumes are bound to topology, and that they can be
// expanded while they are in use.
func (s *Server) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := func(t csi.PluginCapability_Service_Type) *csi.PluginCapability {
		return &csi.PluginCapability{Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: t}}}
	}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		service(csi.PluginCapability_Service_CONTROLLER_SERVICE),
		service(csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS),
		{Type: &csi.PluginCapability_VolumeExpansion_{
			VolumeExpansion: &csi.PluginCapability_VolumeExpansion{Type: csi.PluginCapability_VolumeExpansion_ONLINE},
		}},
	}}, nil
}

// Probe says whether the driver is ready. That it is not is no error: sidecars wait for it, and Kubernetes need not
// restart it.
func (s *Server) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	ready := s.Ready == nil || s.Ready() == nil
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(ready)}, nil
}
