package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// BenchmarkUp measures a life of the default scenario: boot, memory, end, and how long the cluster takes to notice a VM that
// lost power.
func BenchmarkUp(b *testing.B) {
	l, runs := newLab(b), 0
	for b.Loop() {
		err := l.life(b.Context())
		if err != nil {
			_ = l.down(b.Context())
			b.Fatalf("run %d: %v", runs+1, err)
		}
		runs++
	}
	l.print(runs, "default scenario, speed 10")
}

// life is one life of a sandbox.
func (l *lab) life(ctx context.Context) error {
	begin := time.Now()
	if err := l.run(ctx, "version"); err != nil {
		return err
	}
	version := time.Since(begin)
	begin = time.Now()
	events, err := l.up(ctx)
	if err != nil {
		return err
	}
	for _, e := range events {
		switch {
		case e.Kind == "boot.step" && strings.HasPrefix(e.Message, "API server:"):
			l.note("up → API server and controller manager ready", "s", 3.5, e.Time.Sub(begin).Seconds())
		case e.Kind == "sandbox.ready":
			l.note("up → all nodes initialized, zone-labeled and Ready", "s", 8, e.Time.Sub(begin).Seconds())
		}
	}
	if err := l.memory(ctx); err != nil {
		return err
	}
	if err := l.powerOff(ctx); err != nil {
		return err
	}
	begin = time.Now()
	if err := l.run(ctx, "down"); err != nil {
		return err
	}
	l.note("down", "s", 2, time.Since(begin).Seconds())
	l.note("version", "ms", 100, float64(version.Microseconds())/1000)
	return nil
}

// powerOff pulls a VM's plug and reads off the events when the cluster noticed.
func (l *lab) powerOff(ctx context.Context) error {
	const vm = "worker-west-1"
	done, err := l.sandbox.VM(ctx, api.VMRequest{Action: api.PowerOff, VM: vm})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var off, unknown time.Time
	err = l.sandbox.Events(ctx, done.Seq, true, func(e event.Event, _ uint64) error {
		switch {
		case e.Kind == "vm.powered-off":
			off = e.Time
		case e.Kind == "node.unknown" && e.Object.Name == vm:
			unknown = e.Time
		case e.Kind == "node.tainted" && e.Object.Name == vm && strings.HasSuffix(e.Message, "/shutdown"):
			l.note("power-off → Ready=Unknown", "s", 10, unknown.Sub(off).Seconds())
			l.note("power-off → shutdown taint", "s", 10, e.Time.Sub(off).Seconds())
			return context.Canceled
		}
		return nil
	})
	if err == nil || ctx.Err() != nil {
		return fmt.Errorf("the shutdown taint of %s did not come", vm)
	}
	return nil
}

// memory reads what the sandbox and its children hold.
func (l *lab) memory(ctx context.Context) error {
	if err := wait(ctx, settle); err != nil {
		return err
	}
	st, err := l.sandbox.Status(ctx)
	if err != nil {
		return err
	}
	own, err := mib(st.PID, "VmRSS")
	if err != nil {
		return err
	}
	worst := 0.0
	for _, part := range st.Components {
		field := "RssAnon"
		if part.Name == "control-plane" {
			field = "VmRSS"
		} else if part.Name != "ccm" && !strings.HasPrefix(part.Name, "node/") {
			continue
		}
		held, err := mib(part.PID, field)
		if err != nil {
			return err
		}
		switch part.Name {
		case "control-plane":
			l.note("sandbox + control plane, RSS", "MiB", 500, own+held)
		case "ccm":
			l.note("cloud controller manager, anonymous memory", "MiB", 40, held)
		default:
			worst = max(worst, held)
		}
	}
	l.note("largest node, anonymous memory", "MiB", 25, worst)
	return nil
}
