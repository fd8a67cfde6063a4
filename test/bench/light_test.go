package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

var (
	lights = flag.Int("light", 1000, "light nodes, in two vCenters")
	speed  = flag.Float64("speed", 1, "of the sandbox of light nodes")
	steady = flag.Duration("steady", time.Minute, "how long to measure what keeping them costs")
)

// BenchmarkLight measures many light nodes: how long it takes until all VMs of two vCenters are nodes that the built-in cloud
// controller manager has initialized, what memory each process holds then, and what it costs to keep them.
func BenchmarkLight(b *testing.B) {
	measureLight(b, "in two vCenters", topology(*lights))
}

// BenchmarkGuest measures as many light nodes as the VirtualMachines of a guest cluster, which the built-in cloud controller manager
// initializes from the Supervisor.
func BenchmarkGuest(b *testing.B) {
	measureLight(b, "of a guest cluster", guestTopology(*lights))
}

// measureLight boots a topology and measures it, once or more often.
func measureLight(b *testing.B, where string, topology []byte) {
	l := newLab(b)
	file := filepath.Join(l.state, "topology.yaml")
	if err := os.WriteFile(file, topology, 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		err := l.light(b.Context(), where, file)
		// "up" may have failed after it detached a sandbox.
		if down := l.down(b.Context()); err == nil {
			err = down
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// light boots the topology and measures it.
func (l *lab) light(ctx context.Context, where, file string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	began := time.Now()
	events, err := l.up(ctx, file, "--csi=off", fmt.Sprintf("--speed=%v", *speed))
	if err != nil {
		return err
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("\n%d light nodes %s, speed %v, load %s", *lights, where, *speed, load)
	fmt.Printf("%-40s %8.1f s\n", "all initialized and ready", time.Since(began).Seconds())
	fmt.Printf("%-40s %8.1f s\n", "first Node to last initialized", initializing(events).Seconds())
	return l.measure(ctx)
}

// initializing returns the time from the first Node to the last one that the cloud controller manager initialized.
func initializing(events []event.Event) time.Duration {
	var first, last time.Time
	for _, e := range events {
		switch {
		case e.Kind == "node.registered" && first.IsZero():
			first = e.Time
		case e.Kind == "node.provider-id":
			last = e.Time
		}
	}
	return last.Sub(first)
}

// measure reads what the sandbox's processes hold and use.
func (l *lab) measure(ctx context.Context) error {
	all, err := l.processes(ctx)
	if err != nil {
		return err
	}
	if err := wait(ctx, 2*settle); err != nil {
		return err
	}
	before, began := usage(all), time.Now()
	if err := wait(ctx, *steady); err != nil {
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
	st, err := l.sandbox.Status(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%-40s %8d of %d\n", "ready at the end", st.Nodes.Ready, st.Nodes.Wanted)
	return nil
}

// process is one of the sandbox's.
type process struct {
	name string
	pid  int
}

// processes lists the sandbox itself and its children.
func (l *lab) processes(ctx context.Context) ([]process, error) {
	st, err := l.sandbox.Status(ctx)
	if err != nil {
		return nil, err
	}
	all := []process{{"sandbox, with its vCenters", st.PID}}
	for _, part := range st.Components {
		if part.PID != 0 {
			all = append(all, process{part.Name, part.PID})
		}
	}
	return all, nil
}

// used is what a process holds, in MiB, and the time it has had a processor for.
type used struct {
	rss float64
	cpu time.Duration
}

// usage reads it of each. A process that is gone holds nothing.
func usage(all []process) map[int]used {
	of := map[int]used{}
	for _, p := range all {
		held, _ := mib(p.pid, "VmRSS")
		of[p.pid] = used{rss: held, cpu: cpu(p.pid)}
	}
	return of
}

// cpu reads the ticks, of which there are a hundred in a second, of a process in user and kernel mode.
func cpu(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may hold blanks
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
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

// guestTopology is a topology with a Supervisor whose guest cluster has n light nodes in three zones.
func guestTopology(n int) []byte {
	var t bytes.Buffer
	fmt.Fprint(&t, `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: guests}
spec:
  nodes: light
  supervisor: {namespaces: [{name: team}], guestClusters: [{name: guest, namespace: team}]}
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          region: region
          clusters:
`)
	zones := []string{"a", "b", "c"}
	for _, z := range zones {
		fmt.Fprintf(&t, "            - {name: c-%[1]s, zone: zone-%[1]s, hosts: [{name: \"esx-%[1]s-{n}\", replicas: %[2]d, cpus: 128, memory: 1Ti}]}\n", z, max(1, (n/len(zones)+49)/50))
	}
	fmt.Fprint(&t, "          vms:\n")
	for i, z := range zones {
		fmt.Fprintf(&t, "            - {name: \"worker-%[1]s-{n}\", replicas: %[2]d, cluster: c-%[1]s, role: worker}\n", z, (n+i)/len(zones))
	}
	return t.Bytes()
}
