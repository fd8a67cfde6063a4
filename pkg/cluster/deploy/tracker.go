package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

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
