package kubelet

import (
	"context"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The CPU time of a VM never falls, also when a container ends, and its memory follows the containers.
func TestUse(t *testing.T) {
	containers := []*runtimeapi.ContainerStats{{
		Cpu:    &runtimeapi.CpuUsage{UsageNanoCores: &runtimeapi.UInt64Value{Value: 5e8}},
		Memory: &runtimeapi.MemoryUsage{WorkingSetBytes: &runtimeapi.UInt64Value{Value: 100 << 20}},
	}}
	u := &use{list: func(context.Context, *runtimeapi.ContainerStatsFilter) ([]*runtimeapi.ContainerStats, error) {
		return containers, nil
	}}
	start := time.Unix(1e9, 0)
	for _, look := range []struct {
		after      time.Duration
		containers int
		cpu        time.Duration
		bytes      uint64
	}{
		{0, 1, 0, 612 << 20},
		{10 * time.Second, 1, 5200 * time.Millisecond, 612 << 20},
		{20 * time.Second, 0, 5400 * time.Millisecond, 512 << 20},
		{20 * time.Second, 0, 5400 * time.Millisecond, 512 << 20},
	} {
		containers = containers[:look.containers]
		cpu, bytes := u.now(t.Context(), start.Add(look.after), 8<<30)
		if got := time.Duration(cpu).Round(time.Microsecond); got != look.cpu || bytes != look.bytes {
			t.Errorf("after %s: %s, %d bytes, want %s, %d", look.after, got, bytes, look.cpu, look.bytes)
		}
	}
	if _, bytes := new(use).now(t.Context(), start, 1<<30); bytes != 256<<20 {
		t.Errorf("a small VM uses %d bytes", bytes)
	}
}
