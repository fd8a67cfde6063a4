package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

var volumes = flag.Int("volumes", 100, "how many volumes there are at once, on ten nodes")

// storage is a lab with volumes.
type storage struct {
	*lab
	volumes  int
	topology string
	cluster  kubernetes.Interface
}

// BenchmarkStorage measures volumes: what the boot costs more, one claim, a hundred claims on ten nodes, calls to vCenter for
// each volume that is attached, and memory.
func BenchmarkStorage(b *testing.B) {
	l := &storage{lab: newLab(b), volumes: *volumes}
	l.topology = filepath.Join(l.state, "topology.yaml")
	if err := os.WriteFile(l.topology, []byte(tenNodes), 0o600); err != nil {
		b.Fatal(err)
	}
	runs := 0
	for b.Loop() {
		for _, life := range []func(context.Context) error{l.withoutVolumes, l.withVolumes, l.onTenNodes} {
			err := life(b.Context())
			if down := l.down(b.Context()); err == nil {
				err = down
			}
			if err != nil {
				b.Fatalf("run %d: %v", runs+1, err)
			}
		}
		runs++
	}
	l.print(runs, "speed 10")
}

// boot boots a sandbox, connects to its cluster and returns how long it took to be ready.
func (l *storage) boot(ctx context.Context, args ...string) (ready time.Duration, err error) {
	begin := time.Now()
	events, err := l.up(ctx, args...)
	if err != nil {
		return 0, err
	}
	for _, e := range events {
		if e.Kind == "sandbox.ready" {
			ready = e.Time.Sub(begin)
		}
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

func (l *storage) withoutVolumes(ctx context.Context) error {
	ready, err := l.boot(ctx, "zones-us-eu", "--csi", "off")
	l.note("up → ready, `--csi off`", "s", 6, ready.Seconds())
	return err
}

func (l *storage) withVolumes(ctx context.Context) error {
	ready, err := l.boot(ctx, "zones-us-eu", "--csi", "builtin")
	if err != nil {
		return err
	}
	l.note("up → ready and every node takes volumes", "s", 6, ready.Seconds())
	return l.one(ctx)
}

func (l *storage) onTenNodes(ctx context.Context) error {
	if _, err := l.boot(ctx, l.topology, "--csi", "builtin"); err != nil {
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

// attach is what the driver calls once for each ControllerPublishVolume.
const attach = "CnsAttachVolume"

// calls counts what the driver asks a vCenter for while volumes that are there already are attached.
func (l *storage) calls(ctx context.Context) error {
	if err := l.all(ctx, "calls", func(ctx context.Context, id string) error { return l.claim(ctx, id, objects.ImmediateClass) }); err != nil {
		return err
	}
	if err := l.bound(ctx, l.volumes); err != nil {
		return err
	}
	before, err := l.asked(ctx)
	if err != nil {
		return err
	}
	if err := l.all(ctx, "calls", l.pod); err != nil {
		return err
	}
	if err := l.running(ctx, l.volumes, nil); err != nil {
		return err
	}
	after, err := l.asked(ctx)
	if err != nil {
		return err
	}
	total := 0.0
	for method, n := range after {
		if n -= before[method]; n > 0 {
			total += n
			fmt.Fprintf(os.Stderr, "  %4.0f %s\n", n, method)
		}
	}
	// The attacher often asks twice for a volume, before it sees what it has written itself; the second time costs the driver
	// a refusal and a look at the VM.
	asked := after[attach] - before[attach]
	l.note("calls of the driver to vCenter for each ControllerPublishVolume", "calls", 3, total/asked)
	l.note("ControllerPublishVolume calls of the attacher for each volume", "calls", 0, asked/float64(l.volumes))
	return nil
}

// asked are the driver's calls so far, by method.
func (l *storage) asked(ctx context.Context) (map[string]float64, error) {
	all, err := l.sandbox.Calls(ctx)
	by := map[string]float64{}
	for _, c := range all {
		if strings.HasPrefix(c.Client, csi.UserAgent) {
			by[c.Method] += float64(c.Calls)
		}
	}
	return by, err
}

// memory reads what the driver and each sidecar hold with all volumes there.
func (l *storage) memory(ctx context.Context) error {
	if err := wait(ctx, settle); err != nil {
		return err
	}
	st, err := l.sandbox.Status(ctx)
	if err != nil {
		return err
	}
	worst := 0.0
	for _, part := range st.Components {
		csi := strings.HasPrefix(part.Name, "csi-") || part.Name == "snapshot-controller"
		if !csi && !strings.HasPrefix(part.Name, "node/") {
			continue
		}
		anon, err := mib(part.PID, "RssAnon")
		if err != nil {
			return err
		}
		if csi {
			l.note(part.Name+", anonymous memory", "MiB", 0, anon)
		} else {
			worst = max(worst, anon)
		}
	}
	l.note("largest node, with its volumes, anonymous memory", "MiB", 0, worst)
	return nil
}

const (
	namespace = metav1.NamespaceDefault
	// patience is when a figure is given up.
	patience = 5 * time.Minute
	// atOnce is how many objects are made at the same time.
	atOnce = 10
)

// one measures a single claim with its pod, a few times.
func (l *storage) one(ctx context.Context) error {
	for n := range 3 {
		id := fmt.Sprintf("one-%d", n)
		begin := time.Now()
		if err := l.claim(ctx, id, objects.DefaultClass); err != nil {
			return err
		}
		if err := l.pod(ctx, id); err != nil {
			return err
		}
		if err := l.running(ctx, n+1, nil); err != nil {
			return err
		}
		l.note("one claim → its pod runs", "s", 2, time.Since(begin).Seconds())
	}
	return nil
}

// many measures them all at once, from the first claim to the last pod, and back.
func (l *storage) many(ctx context.Context) error {
	all, err := l.processes(ctx)
	if err != nil {
		return err
	}
	before, begin := usage(all), time.Now()
	if err := l.all(ctx, "many", func(ctx context.Context, id string) error {
		if err := l.claim(ctx, id, objects.DefaultClass); err != nil {
			return err
		}
		return l.pod(ctx, id)
	}); err != nil {
		return err
	}
	if err := l.running(ctx, l.volumes, func(n int) {
		if n == l.volumes/2 {
			l.note(fmt.Sprintf("%d claims on ten nodes → half of the pods run", l.volumes), "s", 0, time.Since(begin).Seconds())
		}
	}); err != nil {
		return err
	}
	l.note(fmt.Sprintf("%d claims on ten nodes → all pods run", l.volumes), "s", 10, time.Since(begin).Seconds())
	l.processors(all, before)

	begin = time.Now()
	if err := l.clear(ctx); err != nil {
		return err
	}
	l.note("all deleted → no volume is left in CNS", "s", 0, time.Since(begin).Seconds())
	return nil
}

// processors notes the processor time of each process since before: unlike the time of a clock, other work changes it little.
func (l *storage) processors(all []process, before map[int]used) {
	const what = "processor time of them"
	after, sums, total := usage(all), map[string]float64{}, 0.0
	var names []string
	for _, p := range all {
		name, seconds := p.name, (after[p.pid].cpu - before[p.pid].cpu).Seconds()
		if strings.HasPrefix(name, "node/") {
			name = "nodes"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		sums[name] += seconds
		total += seconds
	}
	l.note(what, "s", 0, total)
	for _, name := range names {
		l.note(what+": "+name, "s", 0, sums[name])
	}
}

// clear deletes pods and claims and waits until no volume is left.
func (l *storage) clear(ctx context.Context) error {
	var now int64
	if err := l.cluster.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}); err != nil {
		return err
	}
	if err := l.cluster.CoreV1().PersistentVolumeClaims(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	return l.volumesAre(ctx, 0)
}

// all makes one of each of the volumes' numbers.
func (l *storage) all(ctx context.Context, prefix string, makeOne func(ctx context.Context, id string) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for n := range l.volumes {
		g.Go(func() error { return makeOne(ctx, fmt.Sprintf("%s-%d", prefix, n)) })
	}
	return g.Wait()
}

func (l *storage) claim(ctx context.Context, id, class string) error {
	_, err := l.cluster.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: id},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	return err
}

func (l *storage) pod(ctx context.Context, id string) error {
	labels := map[string]string{"bench": "storage"}
	_, err := l.cluster.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: id, Labels: labels},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "c", Image: "registry.k8s.io/pause:3.10", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: id},
			}}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
			}},
		},
	}, metav1.CreateOptions{})
	return err
}

// running waits until so many pods run, and calls each, if not nil, with every new count.
func (l *storage) running(ctx context.Context, want int, each func(n int)) error {
	w, stop, err := l.watch(ctx, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return l.cluster.CoreV1().Pods(namespace).Watch(ctx, o)
	})
	if err != nil {
		return err
	}
	defer stop()
	return count(w, want, "pods run", each, func(e watch.Event) (string, bool) {
		p, ok := e.Object.(*corev1.Pod)
		return nameOf(e), ok && p.Status.Phase == corev1.PodRunning
	})
}

// bound waits until so many claims are.
func (l *storage) bound(ctx context.Context, want int) error {
	w, stop, err := l.watch(ctx, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return l.cluster.CoreV1().PersistentVolumeClaims(namespace).Watch(ctx, o)
	})
	if err != nil {
		return err
	}
	defer stop()
	return count(w, want, "claims are bound", nil, func(e watch.Event) (string, bool) {
		c, ok := e.Object.(*corev1.PersistentVolumeClaim)
		return nameOf(e), ok && c.Status.Phase == corev1.ClaimBound
	})
}

func (l *storage) watch(ctx context.Context, open func(context.Context, metav1.ListOptions) (watch.Interface, error)) (<-chan watch.Event, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	w, err := open(ctx, metav1.ListOptions{})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return w.ResultChan(), func() { w.Stop(); cancel() }, nil
}

func count(events <-chan watch.Event, want int, what string, each func(n int), is func(watch.Event) (string, bool)) error {
	seen := map[string]bool{}
	for e := range events {
		name, ok := is(e)
		if !ok || e.Type == watch.Deleted || seen[name] {
			continue
		}
		seen[name] = true
		if each != nil {
			each(len(seen))
		}
		if len(seen) == want {
			return nil
		}
	}
	return fmt.Errorf("after %s, %d of %d %s", patience, len(seen), want, what)
}

func nameOf(e watch.Event) string {
	if o, ok := e.Object.(metav1.Object); ok {
		return o.GetName()
	}
	return ""
}

// volumesAre waits until there are so many volumes, as both planes have them.
func (l *storage) volumesAre(ctx context.Context, want int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	met := errors.New("met")
	volumes, synced := map[string]bool{}, false
	err := l.sandbox.Watch(ctx, ^uint64(0), func(u api.Update) error {
		if u.Volume != nil {
			volumes[u.Volume.Name] = !u.Deleted
		}
		if synced = synced || u.Synced; !synced {
			return nil
		}
		n := 0
		for _, there := range volumes {
			if there {
				n++
			}
		}
		if n == want {
			return met
		}
		return nil
	})
	if errors.Is(err, met) {
		return nil
	}
	all, _ := l.sandbox.Volumes(context.WithoutCancel(ctx))
	return fmt.Errorf("after %s, %d volumes, want %d: %w", patience, len(all), want, err)
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
