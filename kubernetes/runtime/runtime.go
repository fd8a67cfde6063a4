package runtime

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Name and Version are what a Node's containerRuntimeVersion has.
const (
	Name    = "sandbox"
	version = "1.0.0"
)

// Options configures [New].
type Options struct {
	// Node is the node's name.
	Node string
	// RootDir is the kubelet's root directory. Files of pods are below it, and nothing else is opened.
	RootDir string
	// DiskBytes and DiskInodes are the size of the VM's disk.
	DiskBytes, DiskInodes uint64
	// PodCIDR returns the Node's podCIDR. It is called until [Runtime.UpdateRuntimeConfig] has been; an empty range is one of the
	// shared address space 100.64.0.0/10. Nil: the same.
	PodCIDR func(context.Context) (string, error)
}

// Runtime implements the CRI. Create it with [New]; it is safe for concurrent use. [Runtime.Stop] ends what runs.
type Runtime struct {
	opts      Options
	addresses addresses
	images    images
	streams   streams
	// all ends when the VM does.
	all  context.Context
	stop context.CancelFunc
	runs sync.WaitGroup

	mu         sync.Mutex
	sandboxes  map[string]*sandbox
	containers map[string]*container
}

var (
	_ internalapi.RuntimeService      = (*Runtime)(nil)
	_ internalapi.ImageManagerService = (*Runtime)(nil)
)

// New returns a runtime without containers. Its containers end with ctx.
func New(ctx context.Context, opts Options) *Runtime {
	r := &Runtime{opts: opts, sandboxes: map[string]*sandbox{}, containers: map[string]*container{}}
	r.all, r.stop = context.WithCancel(ctx)
	r.addresses.node = opts.Node
	return r
}

// Stop ends all containers and streams, and waits for them.
func (r *Runtime) Stop() {
	r.stop()
	r.streams.stop()
	r.runs.Wait()
}

// newID returns the ID of a sandbox or container.
func newID() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// notFound is how a runtime reports what it does not have: the kubelet recognizes it by its code.
func notFound(kind, id string) error {
	return status.Errorf(codes.NotFound, "%s %q: not found", kind, id)
}

// containersDir is the folder of the files that containers write outside of volumes.
func (r *Runtime) containersDir() string { return filepath.Join(r.opts.RootDir, "containers") }

// HostDir is the folder of the kubelet's root directory that stands for the root file system of the VM.
const HostDir = "host"

// hostDir is the folder that stands for the VM's root file system in volumes of type hostPath.
func (r *Runtime) hostDir() string { return filepath.Join(r.opts.RootDir, HostDir) }

// Version implements the CRI.
func (r *Runtime) Version(context.Context, string) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: Name, RuntimeVersion: version, RuntimeApiVersion: "v1"}, nil
}

// Status implements the CRI.
func (r *Runtime) Status(context.Context, bool) (*runtimeapi.StatusResponse, error) {
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true},
		{Type: runtimeapi.NetworkReady, Status: true},
	}}}, nil
}

// RuntimeConfig implements the CRI.
func (r *Runtime) RuntimeConfig(context.Context) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{}, nil
}

// UpdateRuntimeConfig implements the CRI. The kubelet calls it with its Node's podCIDR.
func (r *Runtime) UpdateRuntimeConfig(_ context.Context, c *runtimeapi.RuntimeConfig) error {
	return r.addresses.set(c.GetNetworkConfig().GetPodCidr())
}

// nanoseconds returns a time as the CRI has it; 0 for none.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// matches reports whether labels have all of a selector.
func matches(labels, selector map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// GetContainerEvents implements the CRI: it has no events, and the kubelet lists containers.
func (r *Runtime) GetContainerEvents(context.Context, chan *runtimeapi.ContainerEventResponse, func(runtimeapi.RuntimeService_GetContainerEventsClient)) error {
	return status.Error(codes.Unimplemented, "no container events")
}

// CheckpointContainer implements the CRI.
func (r *Runtime) CheckpointContainer(context.Context, *runtimeapi.CheckpointContainerRequest) error {
	return status.Error(codes.Unimplemented, "no checkpoints")
}
