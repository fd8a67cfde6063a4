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

// Sockets are the sockets of a [Plugin].
type Sockets struct {
	// CSI is the socket of the service: a path, or unix:///path. Its directory is created if needed.
	CSI string
	// Registration is the socket for kubelet's plugin watcher, in its plugins_registry; empty if a registrar sidecar registers
	// the driver. Its directory is created if needed.
	Registration string
	// Announced is the path of the CSI socket as kubelet sees it from outside of a container; CSI when empty.
	Announced string
	// Driver is the registered name; names.Driver when empty.
	Driver string
	// Version is the driver's version, for Identity.
	Version string
}

// Plugin is the service with its sockets. Create it with [Listen] and call [Plugin.Run] in a goroutine.
type Plugin struct {
	server  *Server
	sockets []*rpc.Server // registration last, so that the CSI socket exists first

	onGetInfo func() // closes found, once
	found     chan struct{}
}

// Found is closed when kubelet has found the registration socket and called GetInfo.
func (p *Plugin) Found() <-chan struct{} { return p.found }

// Listen creates the sockets. Calls wait until Run is called; a Plugin that does not run must be closed.
func Listen(ctx context.Context, o Options, at Sockets) (*Plugin, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	p := &Plugin{server: s, found: make(chan struct{})}
	p.onGetInfo = sync.OnceFunc(func() { close(p.found) })
	err = p.listen(ctx, at.CSI, s.opts.Logger, func(g grpc.ServiceRegistrar) {
		csi.RegisterIdentityServer(g, &identity.Server{Version: at.Version})
		csi.RegisterNodeServer(g, s)
	})
	if err == nil && at.Registration != "" {
		a := registration.Announcement{Driver: at.Driver, Endpoint: at.Announced, OnGetInfo: p.onGetInfo, Logger: s.opts.Logger}
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

// shutdownTimeout is how long the shutdown waits for operations on volumes. A mount that hangs cannot be canceled.
const shutdownTimeout = 5 * time.Second

// Run serves until ctx ends, waits some seconds for calls in progress, and returns nil, or why it could not serve. It must be
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

// finish waits for operations that continue after their calls have returned.
func (p *Plugin) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := p.server.Wait(ctx); err != nil {
		p.server.opts.Logger.Warn("operations on volumes are still running", "err", err)
	}
}

// Close releases the sockets of a plugin that has not run.
func (p *Plugin) Close() {
	for _, s := range p.sockets {
		s.Close()
	}
}

// NodeGetInfo returns the id of the VM, the maximum number of volumes and the topology, which kubelet needs to register the driver.
// It waits for the topology; if it stays unknown, the error is Unavailable, and kubelet retries.
func (s *Server) NodeGetInfo(ctx context.Context, _ *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	r := &csi.NodeGetInfoResponse{NodeId: s.opts.NodeID, MaxVolumesPerNode: max(s.opts.MaxVolumes, 0)}
	if s.opts.Topology == nil {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.TopologyTimeout)
	defer cancel()
	segments, err := s.opts.Topology(ctx)
	if err != nil {
		s.opts.Logger.Warn("topology of the node is unknown", "node", s.opts.NodeID, "err", err)
		return nil, status.Errorf(codes.Unavailable, "topology of node %s: %v", s.opts.NodeID, err)
	}
	if len(segments) > 0 {
		r.AccessibleTopology = &csi.Topology{Segments: segments}
	}
	return r, nil
}

// NodeGetCapabilities returns the capabilities of the service.
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

// Backend attaches volumes to the node's file system. Every method is idempotent, and completes what a killed process left
// unfinished. The [Server] calls them for one volume one at a time, except Stats, and for several volumes concurrently. They
// return when done or when ctx has ended. An operation that cannot be canceled may continue; the Server waits for it before the
// next one on the volume.
//
// Errors are those of package volume: ErrNotFound (disk not attached, nothing at the path), ErrInvalid, ErrExists (with other
// properties), ErrState (not staged), ErrInUse, ErrNotSupported, ErrUnavailable (not yet).
type Backend interface {
	// Stage waits for the disk, formats it if it is new, and mounts it at a path. For a raw volume it only waits for the disk.
	Stage(ctx context.Context, s Stage) error
	// Unstage undoes Stage.
	Unstage(ctx context.Context, volume, path string) error
	// Publish makes a staged volume available at a path, which it creates.
	Publish(ctx context.Context, p Publish) error
	// PublishShare mounts a file volume at a path, which it creates. Several nodes do so at a time. Error:
	// volume.ErrNotSupported if the node cannot mount shares.
	PublishShare(ctx context.Context, p PublishShare) error
	// Unpublish undoes Publish or PublishShare, and removes the path.
	Unpublish(ctx context.Context, volume, path string) error
	// Expand reads the size of the disk again, grows the file system to it, and returns the size in bytes. Error:
	// ErrUnavailable if the disk is smaller than required.
	Expand(ctx context.Context, e Expand) (int64, error)
	// Stats returns the usage of a volume that is staged or published at a path.
	Stats(ctx context.Context, volume, path string) (Stats, error)
	// MountsForGroup reports whether mounts work for every group of users, so that kubelet need not change the owner of each
	// file.
	MountsForGroup() bool
}

// Use is how a volume is used.
type Use struct {
	// Block reports that it is used as a raw device.
	Block bool
	// FSType is the requested file system; never empty unless Block is set.
	FSType string
	Flags  []string // for mount
}

// Stage is the argument of [Backend.Stage].
type Stage struct {
	Volume string
	// Disk is the compact UUID of its disk; empty if volumes have no disks.
	Disk string
	Path string
	Use  Use
}

// Publish is the argument of [Backend.Publish].
type Publish struct {
	Volume string
	// Disk is as in [Stage].
	Disk    string
	Staging string // where it was staged
	Path    string
	Use     Use
	// ReadOnly makes this path read-only.
	ReadOnly bool
	// Exclusive forbids other paths at the same time.
	Exclusive bool
}

// PublishShare is the argument of [Backend.PublishShare].
type PublishShare struct {
	Volume string
	// Export is its NFS 4.1 export, "SERVER:/PATH".
	Export   string
	Path     string
	Flags    []string // for mount
	ReadOnly bool
}

// Expand is the argument of [Backend.Expand].
type Expand struct {
	Volume string
	// Path is where it is published or staged.
	Path string
	// Bytes is the required size of the disk; 0 for its current size.
	Bytes int64
}

// Stats is the usage of a volume. A raw volume has only a Capacity.
type Stats struct {
	// Capacity, Used and Available are bytes.
	Capacity, Used, Available      int64
	Inodes, InodesUsed, InodesFree int64
	Block                          bool
}
