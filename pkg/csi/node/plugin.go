package node

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/identity"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/registration"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/rpc"
)

// Sockets say where a plugin listens.
type Sockets struct {
	// CSI is the service's: a path, or unix:///path. Its directory is made.
	CSI string
	// Registration is the one that kubelet's plugin watcher finds, in its plugins_registry; empty when a registrar beside
	// the driver announces it. Its directory is made.
	Registration string
	// Announced is where kubelet, on its side of a container's wall, finds the CSI socket; empty when that is CSI.
	Announced string
	// Driver is the name it is announced by; empty for names.Driver.
	Driver string
	// Version is the driver's, for Identity.
	Version string
}

// Plugin is the service on its sockets. Make it with [Listen] and give it a goroutine with [Plugin.Run].
type Plugin struct {
	server  *Server
	sockets []*rpc.Server // the registration's last: what it announces is there

	asked func() // closes found, once
	found chan struct{}
}

// Found is closed when kubelet has found the registration socket and asked what it announces.
func (p *Plugin) Found() <-chan struct{} { return p.found }

// Listen makes the sockets. Calls wait until Run is called; a Plugin that is not run has to be closed.
func Listen(ctx context.Context, o Options, at Sockets) (*Plugin, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	p := &Plugin{server: s, found: make(chan struct{})}
	p.asked = sync.OnceFunc(func() { close(p.found) })
	err = p.listen(ctx, at.CSI, s.opts.Logger, func(g grpc.ServiceRegistrar) {
		csi.RegisterIdentityServer(g, &identity.Server{Version: at.Version})
		csi.RegisterNodeServer(g, s)
	})
	if err == nil && at.Registration != "" {
		a := registration.Announcement{Driver: at.Driver, Endpoint: at.Announced, Asked: p.asked, Logger: s.opts.Logger}
		if a.Driver == "" {
			a.Driver = names.Driver
		}
		if a.Endpoint == "" {
			a.Endpoint = p.sockets[0].Path()
		}
		err = p.listen(ctx, at.Registration, s.opts.Logger, a.Register)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Plugin) listen(ctx context.Context, socket string, log *slog.Logger, register func(grpc.ServiceRegistrar)) error {
	if filepath.IsAbs(socket) {
		if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
			return err
		}
	}
	s, err := rpc.Listen(ctx, rpc.Config{Endpoint: socket, Register: register, Logger: log})
	if err == nil {
		p.sockets = append(p.sockets, s)
	}
	return err
}

// farewell is how long what is being done to volumes is waited for at the end. A mount that hangs cannot be broken off.
const farewell = 5 * time.Second

// Run serves until ctx ends, lets calls under way end within seconds, and returns nil, or why it could not serve. It is
// called once.
func (p *Plugin) Run(ctx context.Context) error {
	defer p.finish(ctx)
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range p.sockets {
		g.Go(func() error {
			err := s.Run(ctx)
			if err == nil && ctx.Err() == nil {
				err = errors.New("csi: " + s.Path() + ": ended")
			}
			return err
		})
	}
	return g.Wait()
}

// finish waits for what goes on after its call was answered.
func (p *Plugin) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := p.server.Wait(ctx); err != nil {
		p.server.opts.Logger.Warn("volumes are still being worked on", "err", err)
	}
}

// Close gives the sockets of a plugin up that was never run.
func (p *Plugin) Close() {
	for _, s := range p.sockets {
		s.Close()
	}
}

// NodeGetInfo tells kubelet, when the driver registers, which VM this is, how many volumes it takes and where it is. What
// the node's topology is it may have to wait for; when it is still not known it is Unavailable, and kubelet asks again.
func (s *Server) NodeGetInfo(ctx context.Context, _ *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	r := &csi.NodeGetInfoResponse{NodeId: s.opts.NodeID, MaxVolumesPerNode: max(s.opts.MaxVolumes, 0)}
	if s.opts.Topology == nil {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.TopologyTimeout)
	defer cancel()
	segments, err := s.opts.Topology(ctx)
	if err != nil {
		s.opts.Logger.Warn("topology of the node", "node", s.opts.NodeID, "err", err)
		return nil, status.Errorf(codes.Unavailable, "topology of node %s: %v", s.opts.NodeID, err)
	}
	if len(segments) > 0 {
		r.AccessibleTopology = &csi.Topology{Segments: segments}
	}
	return r, nil
}

// NodeGetCapabilities tells what the service can do.
func (s *Server) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	can := []csi.NodeServiceCapability_RPC_Type{
		csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME,
		csi.NodeServiceCapability_RPC_EXPAND_VOLUME,
		csi.NodeServiceCapability_RPC_GET_VOLUME_STATS,
		csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	}
	if s.opts.Backend.MountsForGroup() {
		can = append(can, csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP)
	}
	r := &csi.NodeGetCapabilitiesResponse{}
	for _, c := range can {
		r.Capabilities = append(r.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: c}},
		})
	}
	return r, nil
}
