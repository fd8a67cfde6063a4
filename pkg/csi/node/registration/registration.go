package registration

import (
	"context"
	"log/slog"

	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Announcement is a Registration service. All methods are safe for concurrent use.
type Announcement struct {
	registerapi.UnimplementedRegistrationServer

	Driver string // the driver's name
	// Endpoint is the path of its CSI socket, as kubelet sees it.
	Endpoint string
	// OnGetInfo, if set, is called when kubelet calls GetInfo, by which it discovers a driver. It must not block.
	OnGetInfo func()
	// OnStatus, if set, is called with the result of each attempt: empty if the driver is registered. It must not block. After a
	// failure, kubelet retries automatically within two minutes.
	OnStatus func(failure string)
	Logger   *slog.Logger // discarded when nil
}

var _ registerapi.RegistrationServer = (*Announcement)(nil)

// Register adds the service to a gRPC server.
func (a *Announcement) Register(s grpc.ServiceRegistrar) {
	registerapi.RegisterRegistrationServer(s, a)
}

// GetInfo returns the driver's name and endpoint to kubelet.
func (a *Announcement) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	if a.OnGetInfo != nil {
		a.OnGetInfo()
	}
	return &registerapi.PluginInfo{
		Type: registerapi.CSIPlugin, Name: a.Driver, Endpoint: a.Endpoint, SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus receives the result of the registration from kubelet.
func (a *Announcement) NotifyRegistrationStatus(_ context.Context, r *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	failure := r.GetError()
	if !r.GetPluginRegistered() && failure == "" {
		failure = "not registered; kubelet gave no reason"
	}
	if a.Logger != nil {
		if failure == "" {
			a.Logger.Info("driver registered with kubelet", "driver", a.Driver)
		} else {
			a.Logger.Warn("driver not registered with kubelet", "driver", a.Driver, "err", failure)
		}
	}
	if a.OnStatus != nil {
		a.OnStatus(failure)
	}
	return &registerapi.RegistrationStatusResponse{}, nil
}
