// Command benchlight measures a built binary with many light nodes: how long it takes until all VMs of two vCenters are nodes
// that the built-in cloud controller manager has initialized, what memory each process holds then, and what it costs to keep
// them. Linux only: it reads /proc.
//
//	go run ./hack/benchlight -bin bin/vsphere-sandbox -n 5000
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func main() {
	var b bench
	flag.StringVar(&b.bin, "bin", "bin/vsphere-sandbox", "binary to measure")
	flag.IntVar(&b.nodes, "n", 1000, "light nodes, in two vCenters")
	flag.Float64Var(&b.speed, "speed", 1, "of the sandbox")
	flag.DurationVar(&b.steady, "steady", time.Minute, "how long to measure what keeping them costs")
	flag.DurationVar(&b.limit, "limit", 15*time.Minute, "how long they may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "benchlight:", err)
		os.Exit(1)
	}
}

type bench struct {
	bin           string
	nodes         int
	speed         float64
	steady, limit time.Duration
	state         string
}

const name = "benchlight"

func (b *bench) run(ctx context.Context) (err error) {
	if b.bin, err = filepath.Abs(b.bin); err != nil {
		return err
	}
	if b.state, err = os.MkdirTemp("", "vss-benchlight-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.state)
	file := filepath.Join(b.state, "topology.yaml")
	if err := os.WriteFile(file, topology(b.nodes), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	// Whatever becomes of "up": what it has detached by then goes on without it.
	defer func() { err = errors.Join(err, b.down()) }()
	began := time.Now()
	if err := b.command(ctx, "up", file, "--detach", "--csi=off", fmt.Sprintf("--speed=%v", b.speed)); err != nil {
		return err
	}
	took := time.Since(began)
	dir, err := instance.Open(b.state, name)
	if err != nil {
		return err
	}
	c := api.NewClient(dir.SocketPath())
	fmt.Printf("%d light nodes in two vCenters, speed %v\n", b.nodes, b.speed)
	fmt.Printf("%-40s %8.1f s\n", "all initialized and ready", took.Seconds())
	return b.measure(ctx, c)
}

// during returns after the time that is measured, or early when somebody has had enough.
func during(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// measure reads what the sandbox's processes hold and use.
func (b *bench) measure(ctx context.Context, c *api.Client) error {
	all, err := processes(c)
	if err != nil {
		return err
	}
	if err := during(ctx, settle); err != nil {
		return err
	}
	before, began := usage(all), time.Now()
	if err := during(ctx, b.steady); err != nil {
		return err
	}
	after, took := usage(all), time.Since(began)
	var rss, cores float64
	for _, p := range all {
		held, used := after[p.pid].rss, (after[p.pid].cpu-before[p.pid].cpu).Seconds()/took.Seconds()
		fmt.Printf("  %-38s %8.0f MiB %7.3f cores\n", p.name, held, used)
		rss, cores = rss+held, cores+used
	}
	fmt.Printf("%-40s %8.0f MiB %7.3f cores\n", "in all", rss, cores)
	st, err := c.Status(context.Background())
	if err != nil {
		return err
	}
	fmt.Printf("%-40s %8d of %d\n", "ready at the end", st.Nodes.Ready, st.Nodes.Wanted)
	return nil
}

// settle is how long after the boot the sandbox is left alone.
const settle = 20 * time.Second

// downTime is how long the sandbox may take to end, thousands of nodes with it.
const downTime = 3 * time.Minute

// down ends the sandbox also when nobody waits any more for what it measures.
func (b *bench) down() error {
	ctx, cancel := context.WithTimeout(context.Background(), downTime)
	defer cancel()
	return b.command(ctx, "down")
}

// grace is how long a command has to end that was interrupted.
const grace = time.Minute

// command runs a command of the binary. When ctx ends it is interrupted, as by Ctrl-C: it takes down what it has begun.
func (b *bench) command(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, b.bin, append([]string{"--name", name}, args...)...)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, grace
	cmd.Env = append(os.Environ(), "VSPHERE_SANDBOX_STATE="+b.state)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", args[0], err, out.Bytes())
	}
	return nil
}

// topology has n light nodes in two vCenters of two zones each, as many on each host.
func topology(n int) []byte {
	var t bytes.Buffer
	fmt.Fprint(&t, "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: many}\nspec:\n  nodes: light\n  vcenters:\n")
	parts := []struct{ vcenter, datacenter string }{{"us", "us-west"}, {"us", "us-east"}, {"eu", "eu-west"}, {"eu", "eu-east"}}
	for i, p := range parts {
		count := (n + i) / len(parts)
		if i%2 == 0 {
			fmt.Fprintf(&t, "    - name: %s\n      datacenters:\n", p.vcenter)
		}
		fmt.Fprintf(&t, `        - name: %[2]s
          region: %[1]s
          zone: %[2]s
          clusters: [{name: c-%[2]s, hosts: [{name: "esx-%[2]s-{n}", replicas: %[3]d, cpus: 128, memory: 1Ti}]}]
          vms: [{name: "%[2]s-{n}", replicas: %[4]d, role: worker}]
`, p.vcenter, p.datacenter, max(1, (count+49)/50), count)
	}
	return t.Bytes()
}
