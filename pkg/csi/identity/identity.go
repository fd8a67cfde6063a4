package identity

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// Server is the Identity service. The zero value is always ready. All methods are safe for concurrent use.
type Server struct {
	csi.UnimplementedIdentityServer

	// Version is the driver's version; "dev" when empty.
	Version string
	// Ready returns why the driver is not ready, or nil. It must be safe for concurrent use and must not block. When Ready is
	// nil, the driver is always ready.
	Ready func() error
}

var _ csi.IdentityServer = (*Server)(nil)

// GetPluginInfo returns the driver's name, which is upstream's, and its version.
func (s *Server) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	version := s.Version
	if version == "" {
		version = "dev"
	}
	return &csi.GetPluginInfoResponse{Name: names.Driver, VendorVersion: version}, nil
}

// GetPluginCapabilities reports a controller service, volumes that are bound to topology, and online expansion.
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

// Probe reports whether the driver is ready. If it is not, that is not an error: sidecars wait, and Kubernetes does not restart
// the driver.
func (s *Server) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	ready := s.Ready == nil || s.Ready() == nil
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(ready)}, nil
}
