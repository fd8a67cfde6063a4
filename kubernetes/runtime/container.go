package runtime

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/shell"
)

// container is one attempt of a container.
type container struct {
	id      string
	runtime *Runtime
	sandbox *sandbox
	config  *runtimeapi.ContainerConfig
	image   *runtimeapi.Image
	created time.Time
	does    behavior
	files   *shell.FS
	log     containerLog
	input   *io.PipeWriter // of stdin; nil if the container has none
	stdin   *io.PipeReader

	// terminate is closed for SIGTERM; kill ends the context of what runs; done is closed when it has ended.
	terminate chan struct{}
	termOnce  sync.Once
	kill      context.CancelFunc
	killed    context.Context
	done      chan struct{}

	mu                sync.Mutex
	state             runtimeapi.ContainerState
	started, finished time.Time
	exit              exit
	standIn           bool // it runs a program that is not there
	resources         *runtimeapi.ContainerResources
}

// exit is how a container ended.
type exit struct {
	code            int32
	reason, message string
}

// Exit codes and reasons as runtimes report them.
const (
	reasonCompleted = "Completed"
	reasonError     = "Error"
	reasonOOM       = "OOMKilled"

	exitKilled     = 137
	exitTerminated = 143
)

// exited returns the exit of a program that ended with a code.
func exited(code int) exit {
	if code == 0 {
		return exit{reason: reasonCompleted}
	}
	return exit{code: int32(code), reason: reasonError}
}

// CreateContainer implements the CRI.
func (r *Runtime) CreateContainer(_ context.Context, sandboxID string, config *runtimeapi.ContainerConfig, pod *runtimeapi.PodSandboxConfig) (string, error) {
	name := config.GetMetadata().GetName()
	does, err := parseBehavior(pod.GetAnnotations(), name)
	if err != nil {
		return "", status.Error(codes.InvalidArgument, err.Error())
	}
	i := r.images.find(config.GetImage().GetImage())
	if i == nil {
		return "", notFound("image", config.GetImage().GetImage())
	}
	c := &container{
		id: newID(), runtime: r, config: config, image: i, created: time.Now(), does: does,
		terminate: make(chan struct{}), done: make(chan struct{}),
		resources: &runtimeapi.ContainerResources{Linux: config.GetLinux().GetResources()},
	}
	c.killed, c.kill = context.WithCancel(r.all)
	c.log.ended = c.killed.Done()
	if config.GetLogPath() != "" && pod.GetLogDirectory() != "" {
		c.log.path = filepath.Join(pod.GetLogDirectory(), config.GetLogPath())
	}
	if c.files, err = r.files(c, pod); err != nil {
		return "", err
	}
	if config.GetStdin() {
		c.stdin, c.input = io.Pipe()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[sandboxID]
	if s == nil || s.stopped {
		return "", notFound("sandbox", sandboxID)
	}
	c.sandbox = s
	r.containers[c.id] = c
	return c.id, nil
}

// find returns a container.
func (r *Runtime) find(id string) (*container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.containers[id]; c != nil {
		return c, nil
	}
	return nil, notFound("container", id)
}

// StartContainer implements the CRI.
func (r *Runtime) StartContainer(_ context.Context, id string) error {
	c, err := r.find(id)
	if err != nil {
		return err
	}
	if err := c.log.open(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != runtimeapi.ContainerState_CONTAINER_CREATED {
		return status.Errorf(codes.FailedPrecondition, "container %q is in state %s", id, c.state)
	}
	c.state, c.started = runtimeapi.ContainerState_CONTAINER_RUNNING, time.Now()
	r.runs.Go(func() {
		e := c.run(c.killed)
		c.log.close()
		if c.stdin != nil {
			_ = c.stdin.Close()
		}
		c.mu.Lock()
		c.state, c.finished, c.exit = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now(), e
		c.mu.Unlock()
		c.kill()
		close(c.done)
	})
	return nil
}

// killWithin is the time for what runs to notice that it was killed.
const killWithin = 10 * time.Second

// stop sends SIGTERM, and SIGKILL after the grace period. A container that has not started becomes an exited one.
func (c *container) stop(ctx context.Context, grace time.Duration) {
	c.mu.Lock()
	if c.state == runtimeapi.ContainerState_CONTAINER_CREATED {
		c.state, c.finished, c.exit = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now(), exit{code: exitKilled, reason: reasonError}
		close(c.done)
	}
	c.mu.Unlock()
	if grace > 0 {
		c.termOnce.Do(func() { close(c.terminate) })
		if c.wait(ctx, grace) {
			return
		}
	}
	c.kill()
	c.wait(ctx, killWithin)
}

// wait reports whether the container has ended within limit.
func (c *container) wait(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// remove deletes what the container has written outside of volumes.
func (c *container) remove() {
	c.kill()
	_ = os.RemoveAll(c.dir())
}

// dir is the folder of the container's own files.
func (c *container) dir() string { return filepath.Join(c.runtime.containersDir(), c.id) }

// StopContainer implements the CRI.
func (r *Runtime) StopContainer(ctx context.Context, id string, timeout int64) error {
	c, err := r.find(id)
	if err != nil {
		return nil //nolint:nilerr // it is stopped: a real runtime does the same
	}
	c.stop(ctx, time.Duration(timeout)*time.Second)
	return nil
}

// RemoveContainer implements the CRI.
func (r *Runtime) RemoveContainer(ctx context.Context, id string) error {
	c, err := r.find(id)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	c.stop(ctx, 0)
	r.mu.Lock()
	delete(r.containers, id)
	r.mu.Unlock()
	c.remove()
	return nil
}

// current returns the container's state.
func (c *container) current() runtimeapi.ContainerState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// ListContainers implements the CRI.
func (r *Runtime) ListContainers(_ context.Context, f *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*runtimeapi.Container
	for _, c := range r.containers {
		state := c.current()
		if f.GetId() != "" && f.GetId() != c.id || f.GetPodSandboxId() != "" && f.GetPodSandboxId() != c.sandbox.id ||
			f.GetState() != nil && f.GetState().State != state || !matches(c.config.GetLabels(), f.GetLabelSelector()) {
			continue
		}
		all = append(all, &runtimeapi.Container{
			Id: c.id, PodSandboxId: c.sandbox.id, Metadata: c.config.GetMetadata(), Image: c.config.GetImage(), ImageRef: c.image.Id,
			ImageId: c.image.Id, State: state, CreatedAt: c.created.UnixNano(), Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(),
		})
	}
	return all, nil
}

// ContainerStatus implements the CRI.
func (r *Runtime) ContainerStatus(_ context.Context, id string, _ bool) (*runtimeapi.ContainerStatusResponse, error) {
	c, err := r.find(id)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ref := c.image.Id
	if len(c.image.RepoDigests) > 0 {
		ref = c.image.RepoDigests[0]
	}
	named := c.config.GetImage().GetImage()
	if user := c.config.GetImage().GetUserSpecifiedImage(); user != "" {
		named = user
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{
		Id: c.id, Metadata: c.config.GetMetadata(), State: c.state, CreatedAt: c.created.UnixNano(),
		StartedAt: nanoseconds(c.started), FinishedAt: nanoseconds(c.finished),
		ExitCode: c.exit.code, Reason: c.exit.reason, Message: c.exit.message,
		Image: &runtimeapi.ImageSpec{Image: named}, ImageRef: ref, ImageId: c.image.Id,
		Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(), Mounts: c.config.GetMounts(), LogPath: c.log.path,
		Resources: c.resources,
	}}, nil
}

// UpdateContainerResources implements the CRI: it keeps what was asked for.
func (r *Runtime) UpdateContainerResources(_ context.Context, id string, resources *runtimeapi.ContainerResources) error {
	c, err := r.find(id)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resources = resources
	return nil
}

// ReopenContainerLog implements the CRI: the kubelet has rotated the file.
func (r *Runtime) ReopenContainerLog(_ context.Context, id string) error {
	c, err := r.find(id)
	if err != nil {
		return err
	}
	if state := c.current(); state != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return fmt.Errorf("container %q is in state %s", id, state)
	}
	return c.log.open()
}
