// Package bench measures a built binary as its user meets it, and prints tables of docs/benchmarks.md. Linux only: it reads
// /proc. `make bench`, `make bench-light` and `make bench-storage` run it; test/bench/sim is the simulator alone.
package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

var binary = flag.String("bin", "../../bin/vsphere-sandbox", "binary to measure")

// name is that of the sandbox.
const name = "bench"

// settle is how long after the work memory is read: garbage is collected by then, or never will be.
const settle = 10 * time.Second

// lab runs the binary again and again.
type lab struct {
	bin, state string
	figures    []*figure
	sandbox    *api.Client // of the one that is up
}

// newLab returns a lab with a new state directory.
func newLab(b *testing.B) *lab {
	bin, err := filepath.Abs(*binary)
	if err != nil {
		b.Fatal(err)
	}
	// Short: the path of the API's socket is below it.
	state, err := os.MkdirTemp("", "vss-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(state) })
	l := &lab{bin: bin, state: state}
	if err := l.run(b.Context(), "version"); err != nil { // warms the page cache
		b.Fatal(err)
	}
	return l
}

// run runs the binary. When ctx ends it is interrupted, as by Ctrl-C: it takes down what it has begun.
func (l *lab) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, l.bin, append([]string{"--name", name}, args...)...)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, time.Minute
	cmd.Env = append(os.Environ(), "VSPHERE_SANDBOX_STATE="+l.state)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out.Bytes())
	}
	return nil
}

// up boots a sandbox and returns its events so far. down ends it in any case.
func (l *lab) up(ctx context.Context, args ...string) (events []event.Event, err error) {
	if err := l.run(ctx, append([]string{"up", "--detach"}, args...)...); err != nil {
		return nil, err
	}
	dir, err := instance.Open(l.state, name)
	if err != nil {
		return nil, err
	}
	l.sandbox = api.NewClient(dir.SocketPath())
	err = l.sandbox.Events(ctx, 0, false, func(e event.Event, _ uint64) error {
		events = append(events, e)
		return nil
	})
	return events, err
}

// down ends the sandbox also when ctx has ended.
func (l *lab) down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Minute)
	defer cancel()
	return l.run(ctx, "down", "--all")
}

// figure is one line of the table: what is measured in every run, against what it should be at most; 0 is no target.
type figure struct {
	name, unit string
	target     float64
	values     []float64
}

// note adds a value to a figure.
func (l *lab) note(name, unit string, target, value float64) {
	i := slices.IndexFunc(l.figures, func(f *figure) bool { return f.name == name })
	if i < 0 {
		i = len(l.figures)
		l.figures = append(l.figures, &figure{name: name, unit: unit, target: target})
	}
	l.figures[i].values = append(l.figures[i].values, value)
}

// print prints the table, in the order in which figures were noted first.
func (l *lab) print(runs int, what string) {
	fmt.Printf("\n%s/%s, %d CPUs, %d runs, %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runs, what)
	fmt.Println("| figure | target | median | min | max |\n|---|---|---|---|---|")
	for _, f := range l.figures {
		target := f.unit
		if f.target != 0 {
			target = fmt.Sprintf("≤ %g %s", f.target, f.unit)
		}
		slices.Sort(f.values)
		fmt.Printf("| %s | %s | %.2f | %.2f | %.2f |\n", f.name, target, f.values[len(f.values)/2], f.values[0], f.values[len(f.values)-1])
	}
}

// mib reads a figure of /proc/PID/status, in MiB.
func mib(pid int, field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d: no %s", pid, field)
}

// wait returns after the time, or early with ctx.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
