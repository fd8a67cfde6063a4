// Command benchstorage measures volumes in a built binary, as its user meets them, and prints the table of
// docs/benchmarks.md: what the boot costs more, one claim, a hundred claims on ten nodes, calls to vCenter for each volume
// that is attached, and memory. Linux only: it reads /proc.
//
//	make bench-storage
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func main() {
	bin := flag.String("bin", "bin/vsphere-sandbox", "binary to measure")
	runs := flag.Int("n", 3, "runs, of which the median counts")
	volumes := flag.Int("volumes", 100, "how many volumes there are at once, on ten nodes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, *bin, *runs, *volumes); err != nil {
		fmt.Fprintln(os.Stderr, "benchstorage:", err)
		stop()
		os.Exit(1)
	}
}

// name is that of the sandbox.
const name = "bench"

// lab runs the binary again and again.
type lab struct {
	bin, state string
	volumes    int
	table      table

	sandbox *api.Client // of the one that is up
	cluster kubernetes.Interface
}

func bench(ctx context.Context, bin string, runs, volumes int) (err error) {
	bin, err = filepath.Abs(bin)
	if err != nil {
		return err
	}
	state, err := os.MkdirTemp("", "vss-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	l := &lab{bin: bin, state: state, volumes: volumes}
	if err := os.WriteFile(l.topology(), []byte(tenNodes), 0o600); err != nil {
		return err
	}
	if err := l.run(ctx, "version"); err != nil { // the page cache is to be warm
		return err
	}
	for n := range runs {
		for _, life := range []func(context.Context) error{l.withoutVolumes, l.withVolumes, l.onTenNodes} {
			err := life(ctx)
			if down := l.run(context.WithoutCancel(ctx), "down", "--all"); err == nil {
				err = down
			}
			if err != nil {
				return fmt.Errorf("run %d: %w", n+1, err)
			}
		}
		fmt.Fprintf(os.Stderr, "run %d of %d done\n", n+1, runs)
	}
	l.table.print(os.Stdout, runs)
	return nil
}

func (l *lab) topology() string { return filepath.Join(l.state, "topology.yaml") }

func (l *lab) run(ctx context.Context, args ...string) error {
	c := exec.CommandContext(ctx, l.bin, args...)
	c.Env = append(os.Environ(), "VSPHERE_SANDBOX_STATE="+l.state)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// up boots a sandbox, connects to it and returns how long it took to be ready.
func (l *lab) up(ctx context.Context, args ...string) (ready time.Duration, err error) {
	begin := time.Now()
	if err := l.run(ctx, append([]string{"--name", name, "up", "--detach"}, args...)...); err != nil {
		return 0, err
	}
	dir, err := instance.Open(l.state, name)
	if err != nil {
		return 0, err
	}
	l.sandbox = api.NewClient(dir.SocketPath())
	err = l.sandbox.Events(ctx, 0, false, func(e event.Event, _ uint64) error {
		if e.Kind == "sandbox.ready" {
			ready = e.Time.Sub(begin)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	st, err := l.sandbox.Status(ctx)
	if err != nil {
		return 0, err
	}
	rc, err := clientcmd.BuildConfigFromFlags("", st.Kubeconfig)
	if err != nil {
		return 0, err
	}
	rc.QPS, rc.Burst = 500, 1000
	l.cluster, err = kubernetes.NewForConfig(rc)
	return ready, err
}

func (l *lab) withoutVolumes(ctx context.Context) error {
	ready, err := l.up(ctx, "zones-us-eu", "--csi", "off")
	l.table.note("up → ready, `--csi off`", "s", 6, ready.Seconds())
	return err
}

func (l *lab) withVolumes(ctx context.Context) error {
	ready, err := l.up(ctx, "zones-us-eu", "--csi", "builtin")
	if err != nil {
		return err
	}
	l.table.note("up → ready and every node takes volumes", "s", 6, ready.Seconds())
	return l.one(ctx)
}

func (l *lab) onTenNodes(ctx context.Context) error {
	if _, err := l.up(ctx, l.topology(), "--csi", "builtin"); err != nil {
		return err
	}
	if err := l.many(ctx); err != nil {
		return err
	}
	if err := l.calls(ctx); err != nil {
		return err
	}
	return l.memory(ctx)
}

// tenNodes is one zone with ten workers.
const tenNodes = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: ten-nodes, description: ten workers in one zone}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          region: region-1
          zone: zone-1
          clusters: [{name: compute, hosts: [{name: "esx-{n}", replicas: 5, memory: 128Gi}]}]
          vms: [{name: "worker-{n}", replicas: 10, role: worker}]
`
