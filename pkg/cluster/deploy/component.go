package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// State is the state of a component.
type State string

// The states.
const (
	// Waiting: it has not started, or will be restarted; Change.Reason has the reason.
	Waiting State = "waiting"
	Running State = "running"
	// Exited: its process has ended; Kubernetes restarts it.
	Exited State = "exited"
	// Gone: it has no pod any more.
	Gone State = "gone"
)

// Change is the state of a component, a container of a pod.
type Change struct {
	// Component is its name: "ccm", "ccm-2", "csi-controller", "csi-provisioner".
	Component string
	State     State
	// Ready is the result of its readiness probe.
	Ready bool
	// Reason and Message are Kubernetes': "CrashLoopBackOff", "ImagePullBackOff", "Error".
	Reason, Message string
	// ExitCode is that of the process that ended last; meaningful once Restarts is not 0 or the state is Exited.
	ExitCode int
	// Restarts is how often its pod has started it again.
	Restarts int
	// Started is the start of the running process, or zero.
	Started time.Time
	// Namespace, Pod, Container and Node locate it; ContainerID is the container runtime's, without its scheme.
	Namespace, Pod, Container, Node, ContainerID string
	// Image is the image that its pod names.
	Image string
}

// containerName maps a container of the CSI driver's controller, ours or upstream's, to its component.
func containerName(container string) string {
	switch container {
	case csiControllerContainer:
		return "csi-controller" // as on the embedded ground
	case "vsphere-syncer":
		return "csi-syncer"
	case "liveness-probe":
		return "csi-liveness-probe"
	}
	return container
}

// components returns the containers of the workloads' pods, sorted by component. While a pod replaces one that is
// terminating, the new one is the component.
func (t *tracker) components(all []workload) []Change {
	found := map[string]Change{}
	ending := map[string]bool{}
	add := func(w workload, c Change, pod *corev1.Pod) {
		old := w.spare(pod) || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
		if _, there := found[c.Component]; !there || ending[c.Component] {
			found[c.Component], ending[c.Component] = c, old
		}
	}
	for _, w := range all {
		for _, pod := range w.pods {
			switch {
			case w.part == partCCM:
				if len(pod.Spec.Containers) > 0 {
					add(w, change(t.numbered(w, pod), pod, pod.Spec.Containers[0]), pod)
				}
			case w.kind == "Deployment": // the pods of a DaemonSet belong to nodes
				for _, c := range pod.Spec.Containers {
					add(w, change(containerName(c.Name), pod, c), pod)
				}
			}
		}
	}
	var sorted []Change
	for _, c := range found {
		sorted = append(sorted, c)
	}
	slices.SortFunc(sorted, func(a, b Change) int { return strings.Compare(a.Component, b.Component) })
	return sorted
}

// numbered returns the component of a cloud controller manager: "ccm" for the first that was seen, then "ccm-2". A pod
// that replaces another on its node keeps the name.
func (t *tracker) numbered(w workload, pod *corev1.Pod) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := seat{w.namespace + "/" + w.name, pod.Spec.NodeName}
	n, ok := t.numbers[s]
	if !ok {
		taken := map[int]bool{}
		for _, number := range t.numbers {
			taken[number] = true
		}
		for n = 1; taken[n]; {
			n++
		}
		if s.node != "" { // not scheduled yet
			t.numbers[s] = n
		}
	}
	if n == 1 {
		return "ccm"
	}
	return fmt.Sprintf("ccm-%d", n)
}

func change(component string, pod *corev1.Pod, c corev1.Container) Change {
	out := Change{
		Component: component, State: Waiting, Namespace: pod.Namespace, Pod: pod.Name, Container: c.Name,
		Node: pod.Spec.NodeName, Image: c.Image,
	}
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse {
			out.Reason, out.Message = cond.Reason, cond.Message
		}
	}
	i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
	if i < 0 {
		return out
	}
	s := pod.Status.ContainerStatuses[i]
	out.Ready, out.Restarts = s.Ready, int(s.RestartCount)
	_, out.ContainerID, _ = strings.Cut(s.ContainerID, "://")
	if last := s.LastTerminationState.Terminated; last != nil {
		out.ExitCode = int(last.ExitCode)
	}
	switch {
	case s.State.Running != nil:
		out.State, out.Started = Running, s.State.Running.StartedAt.Time
	case s.State.Terminated != nil:
		out.State, out.ExitCode = Exited, int(s.State.Terminated.ExitCode)
		out.Reason, out.Message = s.State.Terminated.Reason, s.State.Terminated.Message
	case s.State.Waiting != nil:
		out.Reason, out.Message = s.State.Waiting.Reason, s.State.Waiting.Message
	}
	return out
}

// Components returns all components, sorted by name.
func (d *Deployment) Components(ctx context.Context) ([]Change, error) {
	all, _, err := d.tracker.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return d.tracker.components(all), nil
}

// Watch calls f with the state of every component, and with each change, until ctx ends; then it returns nil. It calls f
// from this goroutine.
func (d *Deployment) Watch(ctx context.Context, f func(Change)) error {
	known := map[string]Change{}
	for {
		all, changed, err := d.tracker.snapshot(ctx)
		if ctx.Err() != nil {
			return nil // stopped
		}
		if err != nil {
			return err
		}
		now := map[string]Change{}
		for _, c := range d.tracker.components(all) {
			now[c.Component] = c
			if known[c.Component] != c {
				f(c)
			}
		}
		for name, c := range known {
			if _, ok := now[name]; !ok {
				f(Change{Component: name, State: Gone, Namespace: c.Namespace, Pod: c.Pod, Node: c.Node, Container: c.Container})
			}
		}
		known = now
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		case <-d.tracker.ended.Done():
			return nil
		}
	}
}

// component returns the component of a name, or an error that lists all.
func (d *Deployment) component(ctx context.Context, name string) (Change, error) {
	all, err := d.Components(ctx)
	if err != nil {
		return Change{}, err
	}
	var names []string
	for _, c := range all {
		if c.Component == name {
			return c, nil
		}
		names = append(names, c.Component)
	}
	return Change{}, fmt.Errorf("no pod is component %q; there are: %s", name, cmp.Or(strings.Join(names, ", "), "none"))
}

// tracker watches our workloads and the pods in their namespaces, from its first use on.
type tracker struct {
	client kubernetes.Interface
	ended  context.Context // ends the watches
	end    context.CancelFunc

	starting  sync.Mutex // held while watches are started
	workloads informers.SharedInformerFactory
	pods      map[string]informers.SharedInformerFactory // by namespace
	noVMs     map[string]bool                            // known nodes that are no VMs

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	numbers map[seat]int  // of cloud controller managers, since they were first seen
	asked   map[string]asked
}

// asked is the state of a workload that this process requested last; the watches may be older.
type asked struct {
	workload   workload
	generation int64
}

// ask records the wanted state of a workload, before the watches see it.
func (t *tracker) ask(o *unstructured.Unstructured) {
	w := workload{kind: o.GetKind(), namespace: o.GetNamespace(), name: o.GetName(), part: o.GetLabels()[partLabel], selector: labels.Nothing()}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked[w.String()] = asked{w, o.GetGeneration()}
}

func (t *tracker) forget(o *unstructured.Unstructured) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.asked, title(o))
}

// current returns the workloads of a snapshot that this process requested: one that the watches have an older state of is
// not observed yet. If this process has requested none, it returns all: an earlier process has.
func (t *tracker) current(all []workload) []workload {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.asked) == 0 {
		return all
	}
	var out []workload
	known := map[string]bool{}
	for _, w := range all {
		if a, ok := t.asked[w.String()]; ok {
			known[w.String()] = true
			w.observed = w.observed && w.generation >= a.generation
			out = append(out, w)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.asked)) {
		if !known[name] {
			out = append(out, t.asked[name].workload)
		}
	}
	return out
}

// seat identifies a cloud controller manager across replaced pods.
type seat struct{ workload, node string }

func newTracker(client kubernetes.Interface) *tracker {
	t := &tracker{client: client, pods: map[string]informers.SharedInformerFactory{}, changed: make(chan struct{}), numbers: map[seat]int{}, asked: map[string]asked{}}
	t.ended, t.end = context.WithCancel(context.Background())
	return t
}

// close ends the watches and waits for them.
func (t *tracker) close() {
	t.end()
	t.starting.Lock()
	defer t.starting.Unlock()
	if t.workloads != nil {
		t.workloads.Shutdown()
	}
	for _, f := range t.pods {
		f.Shutdown()
	}
}

func (t *tracker) handler() cache.ResourceEventHandlerFuncs {
	notify := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		close(t.changed)
		t.changed = make(chan struct{})
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	}
}

// start starts the missing watches: of workloads, and of pods in the namespaces of workloads.
func (t *tracker) start(ctx context.Context) error {
	t.starting.Lock()
	defer t.starting.Unlock()
	if t.ended.Err() != nil {
		return errors.New("deploy: the deployment was closed")
	}
	if t.workloads == nil {
		f := informers.NewSharedInformerFactoryWithOptions(t.client, 0,
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = selectOurs }))
		if err := t.run(ctx, f, f.Apps().V1().DaemonSets().Informer(), f.Apps().V1().Deployments().Informer()); err != nil {
			return err
		}
		t.workloads = f
	}
	for _, w := range t.list() {
		if _, ok := t.pods[w.namespace]; ok {
			continue
		}
		f := informers.NewSharedInformerFactoryWithOptions(t.client, 0, informers.WithNamespace(w.namespace))
		if err := t.run(ctx, f, f.Core().V1().Pods().Informer()); err != nil {
			return err
		}
		t.pods[w.namespace] = f
	}
	return nil
}

func (t *tracker) run(ctx context.Context, f informers.SharedInformerFactory, all ...cache.SharedIndexInformer) error {
	var synced []cache.InformerSynced
	for _, i := range all {
		handler, err := i.AddEventHandler(t.handler())
		if err != nil {
			return err
		}
		synced = append(synced, handler.HasSynced)
	}
	f.Start(t.ended.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("listing workloads and pods: %w", context.Cause(ctx))
	}
	return nil
}

// snapshot returns the workloads with their pods, and a channel that is closed at the next change. It starts missing
// watches.
func (t *tracker) snapshot(ctx context.Context) ([]workload, <-chan struct{}, error) {
	t.mu.Lock()
	changed := t.changed
	t.mu.Unlock()
	if err := t.start(ctx); err != nil {
		return nil, nil, err
	}
	t.starting.Lock()
	defer t.starting.Unlock()
	all := t.list()
	for i := range all {
		w := &all[i]
		w.noVMs = t.noVMs
		f, ok := t.pods[w.namespace]
		if !ok {
			continue // it was just created, and the change was notified
		}
		pods, _ := f.Core().V1().Pods().Lister().Pods(w.namespace).List(w.selector)
		slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		w.pods = pods
	}
	return all, changed, nil
}
