// Command bench measures a built binary as its user meets it, and prints the table of docs/benchmarks.md: boot, memory,
// end, and how long the cluster takes to notice a VM that lost power. Linux only: it reads /proc.
//
//	make bench
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func main() {
	bin := flag.String("bin", "bin/vsphere-sandbox", "binary to measure")
	runs := flag.Int("n", 5, "runs, of which the median counts")
	flag.Parse()
	if err := bench(*bin, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// figure is one line of the table: what is measured in every run, against what it should be at most.
type figure struct {
	name   string
	unit   string
	target float64
	values []float64
}

func bench(bin string, runs int) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	state, err := os.MkdirTemp("", "vss-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	b := &lab{bin: bin, state: state}
	if _, err := b.version(); err != nil { // the page cache is to be warm
		return err
	}
	for n := range runs {
		if err := b.run(); err != nil {
			return fmt.Errorf("run %d: %w", n+1, err)
		}
		fmt.Fprintf(os.Stderr, "run %d of %d done\n", n+1, runs)
	}
	fmt.Printf("%s/%s, %d CPUs, %d runs, default scenario, speed 10\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runs)
	fmt.Println("| figure | target | median | min | max |")
	fmt.Println("|---|---|---|---|---|")
	for _, f := range b.figures {
		slices.Sort(f.values)
		fmt.Printf("| %s | ≤ %g %s | %.2f | %.2f | %.2f |\n", f.name, f.target, f.unit, f.values[len(f.values)/2], f.values[0], f.values[len(f.values)-1])
	}
	return nil
}

// lab runs the binary again and again.
type lab struct {
	bin, state string
	figures    []*figure
}

func (b *lab) note(name, unit string, target, value float64) {
	for _, f := range b.figures {
		if f.name == name {
			f.values = append(f.values, value)
			return
		}
	}
	b.figures = append(b.figures, &figure{name: name, unit: unit, target: target, values: []float64{value}})
}

func (b *lab) command(args ...string) *exec.Cmd {
	c := exec.Command(b.bin, args...)
	c.Env = append(os.Environ(), "VSPHERE_SANDBOX_STATE="+b.state)
	return c
}

// version times the smallest thing the binary can do.
func (b *lab) version() (time.Duration, error) {
	begin := time.Now()
	out, err := b.command("version").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("version: %w\n%s", err, out)
	}
	return time.Since(begin), nil
}

// run is one life of a sandbox.
func (b *lab) run() error {
	v, err := b.version()
	if err != nil {
		return err
	}
	begin := time.Now()
	if out, err := b.command("--name", "bench", "up", "--detach").CombinedOutput(); err != nil {
		return fmt.Errorf("up: %w\n%s", err, out)
	}
	dir, err := instance.Open(b.state, "bench")
	if err != nil {
		return err
	}
	c := api.NewClient(dir.SocketPath())
	events, err := all(c)
	if err != nil {
		return err
	}
	for _, e := range events {
		switch {
		case e.Kind == "boot.step" && strings.HasPrefix(e.Message, "API server:"):
			b.note("up → API server and controller manager ready", "s", 3.5, e.Time.Sub(begin).Seconds())
		case e.Kind == "sandbox.ready":
			b.note("up → all nodes initialized, zone-labeled and Ready", "s", 8, e.Time.Sub(begin).Seconds())
		}
	}
	if err := b.memory(c); err != nil {
		return err
	}
	if err := b.powerOff(c); err != nil {
		return err
	}
	begin = time.Now()
	if out, err := b.command("--name", "bench", "down").CombinedOutput(); err != nil {
		return fmt.Errorf("down: %w\n%s", err, out)
	}
	b.note("down", "s", 2, time.Since(begin).Seconds())
	b.note("version", "ms", 100, float64(v.Microseconds())/1000)
	return nil
}

// powerOff pulls a VM's plug and reads off the events when the cluster noticed.
func (b *lab) powerOff(c *api.Client) error {
	const vm = "worker-west-1"
	done, err := c.VM(context.Background(), api.VMRequest{Action: api.PowerOff, VM: vm})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var off, unknown time.Time
	err = c.Events(ctx, done.Seq, true, func(e event.Event, _ uint64) error {
		switch {
		case e.Kind == "vm.powered-off":
			off = e.Time
		case e.Kind == "node.unknown" && e.Object.Name == vm:
			unknown = e.Time
		case e.Kind == "node.tainted" && e.Object.Name == vm && strings.HasSuffix(e.Message, "/shutdown"):
			b.note("power-off → Ready=Unknown", "s", 10, unknown.Sub(off).Seconds())
			b.note("power-off → shutdown taint", "s", 10, e.Time.Sub(off).Seconds())
			return context.Canceled
		}
		return nil
	})
	if err == nil || ctx.Err() != nil {
		return fmt.Errorf("the shutdown taint of %s did not come", vm)
	}
	return nil
}

func all(c *api.Client) (list []event.Event, err error) {
	err = c.Events(context.Background(), 0, false, func(e event.Event, _ uint64) error {
		list = append(list, e)
		return nil
	})
	return list, err
}
