package registration

import (
	"context"
	"log/slog"

	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Announcement is what kubelet is told. It is a Registration service; all methods may be called concurrently.
type Announcement struct {
	registerapi.UnimplementedRegistrationServer

	Driver string // its name
	// Endpoint is the path of its CSI socket, as kubelet sees it.
	Endpoint string
	// Asked is called when kubelet asks what is announced, which is how it finds a driver. It must not block. Nil: nothing is
	// called.
	Asked func()
	// Told is called with what kubelet says of each attempt: empty when the driver is registered. It must not block. Nil:
	// nobody is told. When it is not registered, kubelet tries again by itself, after up to two minutes.
	Told   func(failure string)
	Logger *slog.Logger // nil: none
}

var _ registerapi.RegistrationServer = (*Announcement)(nil)

// Register adds the service to a gRPC server.
func (a *Announcement) Register(s grpc.ServiceRegistrar) {
	registerapi.RegisterRegistrationServer(s, a)
}

// GetInfo tells kubelet what is announced.
func (a *Announcement) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	if a.Asked != nil {
		a.Asked()
	}
	return &registerapi.PluginInfo{
		Type: registerapi.CSIPlugin, Name: a.Driver, Endpoint: a.Endpoint, SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus is how kubelet tells whether it took the driver.
func (a *Announcement) NotifyRegistrationStatus(_ context.Context, r *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	failure := r.GetError()
	if !r.GetPluginRegistered() && failure == "" {
		failure = "not registered, and kubelet does not say why"
	}
	if a.Logger != nil {
		if failure == "" {
			a.Logger.Info("driver registered with kubelet", "driver", a.Driver)
		} else {
			a.Logger.Warn("driver not registered with kubelet", "driver", a.Driver, "err", failure)
		}
	}
	if a.Told != nil {
		a.Told(failure)
	}
	return &registerapi.RegistrationStatusResponse{}, nil
}
