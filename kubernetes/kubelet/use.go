package kubelet

import (
	"context"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What a VM uses beside its containers: an idle guest.
const (
	systemCores = 0.02
	systemBytes = 512 << 20
)

// use is what a VM uses: its guest and the containers. The CPU time of a container that ends stays in that of the VM, so it is
// summed up with the use at each look.
type use struct {
	// list returns the running containers; nil for none.
	list func(context.Context, *runtimeapi.ContainerStatsFilter) ([]*runtimeapi.ContainerStats, error)

	mu   sync.Mutex
	last time.Time // of a look; zero before the first
	cpu  float64   // seconds
}

// now returns the CPU time in nanoseconds and the bytes in use of a VM with that memory.
func (u *use) now(ctx context.Context, at time.Time, memory uint64) (cpu, bytes uint64) {
	cores := systemCores
	bytes = min(systemBytes, memory/4)
	if u.list != nil {
		containers, _ := u.list(ctx, nil) // the runtime is in this process, and has no error
		for _, c := range containers {
			cores += float64(c.GetCpu().GetUsageNanoCores().GetValue()) / 1e9
			bytes += c.GetMemory().GetWorkingSetBytes().GetValue()
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.last.IsZero() && at.After(u.last) {
		u.cpu += cores * at.Sub(u.last).Seconds()
	}
	u.last = at
	return uint64(u.cpu * 1e9), bytes
}
