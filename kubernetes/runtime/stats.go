package runtime

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A container without a declared use uses so much.
const (
	idleMillicores = 1
	idleBytes      = 4 << 20
)

// stats returns what the container uses now, and whether it runs.
func (c *container) stats(now time.Time) (*runtimeapi.ContainerStats, bool) {
	c.mu.Lock()
	state, started := c.state, c.started
	c.mu.Unlock()
	if state != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return nil, false
	}
	nanocores, bytes := uint64(idleMillicores*1e6), uint64(idleBytes)
	if c.does.CPU != nil {
		nanocores = uint64(max(0, c.does.CPU.MilliValue())) * 1e6
	}
	if c.does.Memory != nil {
		bytes = uint64(max(0, c.does.Memory.Value()))
	}
	at := now.UnixNano()
	value := func(v uint64) *runtimeapi.UInt64Value { return &runtimeapi.UInt64Value{Value: v} }
	var free *runtimeapi.UInt64Value
	if limit := c.config.GetLinux().GetResources().GetMemoryLimitInBytes(); limit > 0 && uint64(limit) > bytes {
		free = value(uint64(limit) - bytes)
	}
	return &runtimeapi.ContainerStats{
		Attributes: &runtimeapi.ContainerAttributes{
			Id: c.id, Metadata: c.config.GetMetadata(), Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(),
		},
		Cpu: &runtimeapi.CpuUsage{
			Timestamp: at, UsageNanoCores: value(nanocores), UsageCoreNanoSeconds: value(uint64(now.Sub(started).Seconds() * float64(nanocores))),
		},
		Memory: &runtimeapi.MemoryUsage{
			Timestamp: at, WorkingSetBytes: value(bytes), UsageBytes: value(bytes), RssBytes: value(bytes), AvailableBytes: free,
			PageFaults: value(0), MajorPageFaults: value(0),
		},
		WritableLayer: &runtimeapi.FilesystemUsage{
			Timestamp: at, FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: "/"}, UsedBytes: value(0), InodesUsed: value(0),
		},
	}, true
}

// ContainerStats implements the CRI.
func (r *Runtime) ContainerStats(_ context.Context, id string) (*runtimeapi.ContainerStats, error) {
	c, err := r.find(id)
	if err != nil {
		return nil, err
	}
	s, ok := c.stats(time.Now())
	if !ok {
		return nil, notRunning(id, c.current())
	}
	return s, nil
}

// ListContainerStats implements the CRI.
func (r *Runtime) ListContainerStats(_ context.Context, f *runtimeapi.ContainerStatsFilter) ([]*runtimeapi.ContainerStats, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	var all []*runtimeapi.ContainerStats
	for _, c := range r.containers {
		if f.GetId() != "" && f.GetId() != c.id || f.GetPodSandboxId() != "" && f.GetPodSandboxId() != c.sandbox.id ||
			!matches(c.config.GetLabels(), f.GetLabelSelector()) {
			continue
		}
		if s, ok := c.stats(now); ok {
			all = append(all, s)
		}
	}
	return all, nil
}

// sandboxStats returns what a pod's containers use. The caller holds Runtime.mu.
func (r *Runtime) sandboxStats(s *sandbox, now time.Time) *runtimeapi.PodSandboxStats {
	linux := &runtimeapi.LinuxPodSandboxStats{}
	var nanocores, total, bytes uint64
	for _, c := range r.containers {
		if c.sandbox != s {
			continue
		}
		if one, ok := c.stats(now); ok {
			linux.Containers = append(linux.Containers, one)
			nanocores += one.Cpu.UsageNanoCores.Value
			total += one.Cpu.UsageCoreNanoSeconds.Value
			bytes += one.Memory.WorkingSetBytes.Value
		}
	}
	at := now.UnixNano()
	value := func(v uint64) *runtimeapi.UInt64Value { return &runtimeapi.UInt64Value{Value: v} }
	linux.Cpu = &runtimeapi.CpuUsage{Timestamp: at, UsageNanoCores: value(nanocores), UsageCoreNanoSeconds: value(total)}
	linux.Memory = &runtimeapi.MemoryUsage{Timestamp: at, WorkingSetBytes: value(bytes), UsageBytes: value(bytes), RssBytes: value(bytes)}
	linux.Process = &runtimeapi.ProcessUsage{Timestamp: at, ProcessCount: value(uint64(len(linux.Containers)))}
	return &runtimeapi.PodSandboxStats{
		Attributes: &runtimeapi.PodSandboxAttributes{
			Id: s.id, Metadata: s.config.GetMetadata(), Labels: s.config.GetLabels(), Annotations: s.config.GetAnnotations(),
		},
		Linux: linux,
	}
}

// PodSandboxStats implements the CRI.
func (r *Runtime) PodSandboxStats(_ context.Context, id string) (*runtimeapi.PodSandboxStats, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[id]
	if s == nil {
		return nil, notFound("sandbox", id)
	}
	return r.sandboxStats(s, time.Now()), nil
}

// ListPodSandboxStats implements the CRI.
func (r *Runtime) ListPodSandboxStats(_ context.Context, f *runtimeapi.PodSandboxStatsFilter) ([]*runtimeapi.PodSandboxStats, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	var all []*runtimeapi.PodSandboxStats
	for _, s := range r.sandboxes {
		if s.stopped || f.GetId() != "" && f.GetId() != s.id || !matches(s.config.GetLabels(), f.GetLabelSelector()) {
			continue
		}
		all = append(all, r.sandboxStats(s, now))
	}
	return all, nil
}

// ListMetricDescriptors implements the CRI: it has no other metrics.
func (r *Runtime) ListMetricDescriptors(context.Context) ([]*runtimeapi.MetricDescriptor, error) {
	return nil, nil
}

// ListPodSandboxMetrics implements the CRI.
func (r *Runtime) ListPodSandboxMetrics(context.Context) ([]*runtimeapi.PodSandboxMetrics, error) {
	return nil, nil
}
