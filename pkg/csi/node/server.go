package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Options configure a [Server].
type Options struct {
	// NodeID is the VM's BIOS UUID; required.
	NodeID string
	// MaxVolumes is the maximum number of volumes; names.MaxVolumes when zero, no limit when negative.
	MaxVolumes int64
	// Topology returns the node's segments. It is called at each NodeGetInfo, may wait until ctx ends, and must be safe for
	// concurrent use. Nil: the node has no topology.
	Topology func(context.Context) (map[string]string, error)
	// TopologyTimeout bounds Topology; a minute when zero, as upstream.
	TopologyTimeout time.Duration
	// Timeout bounds every other call; two minutes when zero, which is kubelet's.
	Timeout time.Duration
	// Failed is called for each failed call that a pod waits for. It must not block. When nil, only the kubelet gets the error.
	Failed  func(Failure)
	Backend Backend      // required
	Logger  *slog.Logger // discarded when nil
}

// maxCalls is the number of concurrent calls; more wait. Each may wait for its disk, so it is about the maximum number of disks.
const maxCalls = 64

// Server is the Node service. Create it with [New]; all methods are safe for concurrent use.
type Server struct {
	csi.UnimplementedNodeServer
	opts       Options
	volumes    locks
	slots      chan struct{}
	operations operations
}

var _ csi.NodeServer = (*Server)(nil)

// New returns the service of a node.
func New(o Options) (*Server, error) {
	if o.NodeID == "" {
		return nil, errors.New("csi node: no node id")
	}
	if o.Backend == nil {
		return nil, errors.New("csi node: no backend")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.MaxVolumes = cmp.Or(o.MaxVolumes, names.MaxVolumes)
	o.TopologyTimeout = cmp.Or(o.TopologyTimeout, time.Minute)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	return &Server{opts: o, slots: make(chan struct{}, maxCalls)}, nil
}

// Wait returns when no operation on a volume is running, or ctx has ended.
func (s *Server) Wait(ctx context.Context) error { return s.operations.wait(ctx) }

// Failure is a failed call of the kubelet that a pod waits for.
type Failure struct {
	// Call is "stage", "publish" or "expand".
	Call   string
	Volume string // id
	// Path is the staging path, the target path or the path of the volume.
	Path    string
	Block   bool // the pod needs a raw device
	Message string
}

// watched reports the error of a call that a pod waits for.
func watched[T any](s *Server, f Failure, answer T, err error) (T, error) {
	if err != nil && s.opts.Failed != nil && status.Code(err) != codes.Canceled {
		f.Message = status.Convert(err).Message()
		s.opts.Failed(f)
	}
	return answer, err
}

// call is one call from kubelet.
type call struct {
	what, volume string
	// key, with the volume, excludes concurrent calls. Only that of Stats is not empty: it does not wait for other calls, but on
	// a file system that hangs, only one of them is blocked instead of one per minute.
	key string
}

// do runs f exclusively for a volume. It returns when f has returned, or ctx or the timeout has ended. In the latter case f
// continues, because a mount cannot be canceled, and the volume stays locked until it returns.
func do[T any](ctx context.Context, s *Server, c call, f func(context.Context) (T, error)) (T, error) {
	var none T
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	release, err := s.take(ctx, c.key+c.volume)
	if err != nil {
		cancel()
		return none, failed(err, c)
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	s.operations.begin()
	go func() {
		defer s.operations.end()
		defer cancel()
		defer release()
		var r result
		defer func() {
			if p := recover(); p != nil { // otherwise it would end the process
				s.opts.Logger.Error("call panicked", "call", c.what, "volume", c.volume, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				r.err = fmt.Errorf("bug in the driver, see its log for the stack: %v", p)
			}
			done <- r
		}()
		r.value, r.err = f(ctx)
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return none, failed(r.err, c)
		}
		return r.value, nil
	case <-ctx.Done():
	}
	select {
	case r := <-done: // it has just returned
		if r.err == nil {
			return r.value, nil
		}
		return none, failed(r.err, c)
	default:
		return none, failed(ctx.Err(), c)
	}
}

// take waits for the lock of the volume, and then for one of the slots.
func (s *Server) take(ctx context.Context, key string) (release func(), err error) {
	free, err := s.volumes.take(ctx, key)
	if err != nil {
		return nil, err
	}
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots; free() }, nil
	case <-ctx.Done():
		free()
		return nil, ctx.Err()
	}
}

// code returns the gRPC code of err. Kubelet treats Aborted, Canceled, DeadlineExceeded, Unavailable and ResourceExhausted as an
// unknown outcome and keeps the volume's directories, and all others as not done.
func code(err error) codes.Code {
	for _, c := range []struct {
		err  error
		code codes.Code
	}{
		{volume.ErrPending, codes.Aborted},
		{volume.ErrUnavailable, codes.Unavailable},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{context.Canceled, codes.Canceled},
		{volume.ErrInvalid, codes.InvalidArgument},
		{volume.ErrExists, codes.AlreadyExists},
		{volume.ErrState, codes.FailedPrecondition},
		{volume.ErrInUse, codes.FailedPrecondition},
		{volume.ErrNotSupported, codes.FailedPrecondition},
		{volume.ErrNotFound, codes.NotFound},
	} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return codes.Internal
}

func failed(err error, c call) error {
	return status.Errorf(code(err), "%s volume %s: %v", c.what, c.volume, err)
}

// locks has a lock for each key in use. The zero value is ready to use.
type locks struct {
	mu   sync.Mutex
	keys map[string]*lock
}

type lock struct {
	held  chan struct{} // of capacity 1
	users int
}

// take locks the key. Error: volume.ErrPending if ctx ends before.
func (l *locks) take(ctx context.Context, key string) (release func(), err error) {
	l.mu.Lock()
	if l.keys == nil {
		l.keys = map[string]*lock{}
	}
	k := l.keys[key]
	if k == nil {
		k = &lock{held: make(chan struct{}, 1)}
		l.keys[key] = k
	}
	k.users++
	l.mu.Unlock()

	select {
	case k.held <- struct{}{}:
		return func() { <-k.held; l.leave(key, k) }, nil
	case <-ctx.Done():
		l.leave(key, k)
		return nil, fmt.Errorf("another operation on the volume is running: %w", volume.ErrPending)
	}
}

func (l *locks) leave(key string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.keys, key)
	}
}

// operations counts running operations. Unlike a sync.WaitGroup, wait can time out, and operations may start during it. The zero
// value is ready to use.
type operations struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n becomes 0; nil if no call waits
}

func (w *operations) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
}

func (w *operations) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// wait returns when no operation is running, or with ctx's error.
func (w *operations) wait(ctx context.Context) error {
	w.mu.Lock()
	if w.n == 0 {
		w.mu.Unlock()
		return nil
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// NodePublishVolume makes a staged volume available at the target path.
func (s *Server) NodePublishVolume(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	answer, err := s.publish(ctx, r)
	return watched(s, Failure{Call: "publish", Volume: r.GetVolumeId(), Path: r.GetTargetPath(), Block: r.GetVolumeCapability().GetBlock() != nil}, answer, err)
}

func (s *Server) publish(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if names.IsFileVolume(r.GetVolumeId()) {
		return s.publishShare(ctx, r)
	}
	u, alone, err := use(r.GetVolumeCapability())
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("target", r.GetTargetPath()), err} {
		if e != nil {
			return nil, e
		}
	}
	if r.GetStagingTargetPath() == "" { // CSI requires this code
		return nil, status.Error(codes.FailedPrecondition, "no staging target path")
	}
	readOnly := r.GetReadonly() || r.GetVolumeCapability().GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY
	return do(ctx, s, call{what: "publish", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodePublishVolumeResponse, error) {
		return &csi.NodePublishVolumeResponse{}, s.opts.Backend.Publish(ctx, Publish{
			Volume: r.GetVolumeId(), Disk: diskOf(r.GetPublishContext()), Staging: r.GetStagingTargetPath(), Path: r.GetTargetPath(),
			Use: u, ReadOnly: readOnly, Exclusive: alone,
		})
	})
}

// publishShare mounts a file volume, which needs no staging.
func (s *Server) publishShare(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	export, c := r.GetPublishContext()[names.Export], r.GetVolumeCapability()
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("target", r.GetTargetPath())} {
		if e != nil {
			return nil, e
		}
	}
	switch {
	case c.GetMount() == nil:
		return nil, invalid("file volume: a file system is the only access type")
	case export == "":
		return nil, invalid("file volume: no %s in the publish context", names.Export)
	}
	mode := c.GetAccessMode().GetMode()
	readOnly := r.GetReadonly() || mode == csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY || mode == csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY
	return do(ctx, s, call{what: "publish", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodePublishVolumeResponse, error) {
		return &csi.NodePublishVolumeResponse{}, s.opts.Backend.PublishShare(ctx, PublishShare{
			Volume: r.GetVolumeId(), Export: export, Path: r.GetTargetPath(), Flags: c.GetMount().GetMountFlags(), ReadOnly: readOnly,
		})
	})
}

// NodeUnpublishVolume undoes NodePublishVolume and removes the target path.
func (s *Server) NodeUnpublishVolume(ctx context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("target", r.GetTargetPath())} {
		if e != nil {
			return nil, e
		}
	}
	return do(ctx, s, call{what: "unpublish", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeUnpublishVolumeResponse, error) {
		return &csi.NodeUnpublishVolumeResponse{}, s.opts.Backend.Unpublish(ctx, r.GetVolumeId(), r.GetTargetPath())
	})
}

// NodeStageVolume waits for the volume's disk, formats it if it is new, and mounts it at the staging path.
func (s *Server) NodeStageVolume(ctx context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	answer, err := s.stage(ctx, r)
	return watched(s, Failure{Call: "stage", Volume: r.GetVolumeId(), Path: r.GetStagingTargetPath(), Block: r.GetVolumeCapability().GetBlock() != nil}, answer, err)
}

func (s *Server) stage(ctx context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	if names.IsFileVolume(r.GetVolumeId()) { // mounted for each pod
		return &csi.NodeStageVolumeResponse{}, nil
	}
	u, _, err := use(r.GetVolumeCapability())
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("staging target", r.GetStagingTargetPath()), err} {
		if e != nil {
			return nil, e
		}
	}
	return do(ctx, s, call{what: "stage", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeStageVolumeResponse, error) {
		return &csi.NodeStageVolumeResponse{}, s.opts.Backend.Stage(ctx, Stage{
			Volume: r.GetVolumeId(), Disk: diskOf(r.GetPublishContext()), Path: r.GetStagingTargetPath(), Use: u,
		})
	})
}

// NodeUnstageVolume undoes NodeStageVolume.
func (s *Server) NodeUnstageVolume(ctx context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	for _, e := range []error{checkVolume(r.GetVolumeId()), checkPath("staging target", r.GetStagingTargetPath())} {
		if e != nil {
			return nil, e
		}
	}
	return do(ctx, s, call{what: "unstage", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeUnstageVolumeResponse, error) {
		return &csi.NodeUnstageVolumeResponse{}, s.opts.Backend.Unstage(ctx, r.GetVolumeId(), r.GetStagingTargetPath())
	})
}

// NodeExpandVolume grows the file system to the size of the disk.
func (s *Server) NodeExpandVolume(ctx context.Context, r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	answer, err := s.expand(ctx, r)
	return watched(s, Failure{Call: "expand", Volume: r.GetVolumeId(), Path: r.GetVolumePath(), Block: r.GetVolumeCapability().GetBlock() != nil}, answer, err)
}

func (s *Server) expand(ctx context.Context, r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	if err := checkVolume(r.GetVolumeId()); err != nil {
		return nil, err
	}
	if r.GetVolumePath() == "" {
		return nil, invalid("no volume path")
	}
	need, limit := r.GetCapacityRange().GetRequiredBytes(), r.GetCapacityRange().GetLimitBytes()
	switch {
	case need < 0 || limit < 0:
		return nil, invalid("capacity of %d to %d bytes", need, limit)
	case limit > 0 && limit < need:
		return nil, status.Errorf(codes.OutOfRange, "limit of %d bytes is less than the %d required", limit, need)
	}
	return do(ctx, s, call{what: "expand", volume: r.GetVolumeId()}, func(ctx context.Context) (*csi.NodeExpandVolumeResponse, error) {
		size, err := s.opts.Backend.Expand(ctx, Expand{Volume: r.GetVolumeId(), Path: r.GetVolumePath(), Bytes: need})
		if err == nil && size < need {
			err = fmt.Errorf("disk has %d bytes, not the %d required: %w", size, need, volume.ErrUnavailable)
		}
		return &csi.NodeExpandVolumeResponse{CapacityBytes: size}, err
	})
}

// NodeGetVolumeStats returns the usage of a volume. It does not wait for other operations on the volume.
func (s *Server) NodeGetVolumeStats(ctx context.Context, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	if err := checkVolume(r.GetVolumeId()); err != nil {
		return nil, err
	}
	if r.GetVolumePath() == "" {
		return nil, invalid("no volume path")
	}
	return do(ctx, s, call{what: "stats", volume: r.GetVolumeId(), key: "stats "}, func(ctx context.Context) (*csi.NodeGetVolumeStatsResponse, error) {
		st, err := s.opts.Backend.Stats(ctx, r.GetVolumeId(), r.GetVolumePath())
		if err != nil {
			return nil, err
		}
		usage := []*csi.VolumeUsage{{Unit: csi.VolumeUsage_BYTES, Total: st.Capacity, Used: st.Used, Available: st.Available}}
		if !st.Block {
			usage = append(usage, &csi.VolumeUsage{Unit: csi.VolumeUsage_INODES, Total: st.Inodes, Used: st.InodesUsed, Available: st.InodesFree})
		}
		return &csi.NodeGetVolumeStatsResponse{Usage: usage}, nil
	})
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

func checkVolume(id string) error {
	switch {
	case id == "":
		return invalid("no volume id")
	case strings.ContainsRune(id, 0) || len(id) > 128: // CSI's limit
		return invalid("volume id %.40q…: too long, or not text", id)
	}
	return nil
}

func checkPath(what, path string) error {
	switch {
	case path == "":
		return invalid("no %s path", what)
	case !filepath.IsAbs(path) || path == "/" || strings.ContainsRune(path, 0):
		return invalid("%s path %q: not an absolute path of a directory or file", what, path)
	}
	return nil
}

// use parses a capability. Access modes for several nodes are not supported.
func use(c *csi.VolumeCapability) (u Use, alone bool, err error) {
	if c == nil {
		return u, false, invalid("no volume capability")
	}
	switch mode := c.GetAccessMode().GetMode(); mode {
	case csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY,
		csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER:
	case csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER:
		alone = true
	default:
		return u, false, invalid("access mode %s: a disk is used on one node at a time", mode)
	}
	if c.GetBlock() != nil {
		return Use{Block: true}, alone, nil
	}
	m := c.GetMount()
	if m == nil {
		return u, false, invalid("no access type in the volume capability")
	}
	u = Use{FSType: strings.ToLower(m.GetFsType()), Flags: m.GetMountFlags()}
	if u.FSType == "" {
		u.FSType = names.FileSystems()[0]
	}
	if !slices.Contains(names.FileSystems(), u.FSType) {
		return u, false, invalid("file system %q is not supported: use one of %s", u.FSType, strings.Join(names.FileSystems(), ", "))
	}
	return u, alone, nil
}

// diskOf returns the compact UUID of the disk in a publish context, or "".
func diskOf(publishContext map[string]string) string {
	return names.Compact(publishContext[names.DiskUUID])
}
