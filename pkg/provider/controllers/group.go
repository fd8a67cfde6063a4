package controllers

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	ccmconfig "k8s.io/cloud-provider/app/config"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// group is the controllers that one [Initializers] makes, and what they share: the index over nodes by VM, and the
// goroutine that tells the news to those that have been started.
type group struct {
	config *ccmconfig.CompletedConfig
	cloud  cloudprovider.Interface
	nudges *Nudges
	opts   Options

	mu      sync.Mutex
	started bool
	rounds  []*rounds
	retry   *retry // nil unless cloud-node has been started
}

func (g *group) nodes() coreinformers.NodeInformer {
	return g.config.SharedInformers.Core().V1().Nodes()
}

// start is called by each controller when it starts; the first one begins to listen to the news.
func (g *group) start(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.started {
		return nil
	}
	if err := addIndex(g.nodes().Informer()); err != nil {
		return err
	}
	g.started = true
	p := pace{debounce: g.opts.Debounce, floor: g.opts.Floor}
	g.nudges.goRun(func() {
		// Before the cache is there no VM could be told from one that no node is bound to.
		if cache.WaitForCacheSync(ctx.Done(), g.nodes().Informer().HasSynced) {
			g.nudges.each(ctx, p, g.tell)
		}
	})
	return nil
}

// newRounds returns rounds that are run until ctx ends and hear the news. The fields of r that differ from one
// controller to the next are set.
func (g *group) newRounds(ctx context.Context, r *rounds) *rounds {
	r.init()
	r.floor = min(g.opts.Floor, r.period)
	r.nodes = g.nodes().Lister()
	r.synced = g.nodes().Informer().HasSynced
	g.nudges.goRun(func() { r.run(ctx) })
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rounds = append(g.rounds, r)
	return r
}

// tell says the news to whom it may concern.
func (g *group) tell(n news) {
	g.mu.Lock()
	all, again := g.rounds, g.retry
	g.mu.Unlock()
	if n.everything {
		for _, r := range all {
			r.urgeAll()
		}
		if again != nil {
			again.all()
		}
		return
	}
	var names []string
	stranger := false
	for id := range n.ids {
		nodes := g.byVM(id)
		stranger = stranger || len(nodes) == 0
		for _, node := range nodes {
			names = append(names, node.Name)
			if again != nil {
				again.node(node)
			}
		}
	}
	slices.Sort(names)
	for _, r := range all {
		r.urge(names...)
	}
	if stranger && again != nil {
		again.stranger()
	}
}

// byVM returns the nodes that run on a VM, as far as they tell.
func (g *group) byVM(id string) []*corev1.Node {
	objects, err := g.nodes().Informer().GetIndexer().ByIndex(indexName, vmKey(id))
	if err != nil { // the index is there since start
		return nil
	}
	nodes := make([]*corev1.Node, 0, len(objects))
	for _, object := range objects {
		if node, ok := object.(*corev1.Node); ok {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// orDefault returns d, or what stands for it when it is not positive.
func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// ready reports whether the node's kubelet says that it is.
func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// initialized reports whether the cloud-node controller is done with the node.
func initialized(node *corev1.Node) bool {
	return !hasTaint(node, cloudproviderapi.TaintExternalCloudProvider)
}

// troubled reports whether the lifecycle controller has anything to do for the node: it looks at no VM of a node that
// is ready, and only removes the shutdown taint.
func troubled(node *corev1.Node) bool {
	return !ready(node) || hasTaint(node, cloudproviderapi.TaintNodeShutdown)
}

// rounds hands out nodes to those who look after them, its consumers: all nodes when the period is over, and single
// ones at once when they are urged. A node is with one consumer at a time. Consumers take with [rounds.next]; run must
// be running. All other methods may be called from any goroutine and do not block.
type rounds struct {
	period time.Duration
	floor  time.Duration // the least time between two rounds
	nodes  corelisters.NodeLister
	synced cache.InformerSynced
	// alone says which nodes are handed out one by one, because looking after them may take long; none when nil.
	alone func(*corev1.Node) bool
	// onRound, when set, is called when a round over all nodes begins, but for the first one.
	onRound func()

	out, done chan *batch

	mu    sync.Mutex
	urged []string
	early bool
	wake  chan struct{}
}

// batch is what a consumer takes at once.
type batch struct {
	names []string
	urged bool
}

// init makes the channels; it returns r.
func (r *rounds) init() *rounds {
	r.out, r.done, r.wake = make(chan *batch), make(chan *batch), make(chan struct{}, 1)
	return r
}

// urge asks for nodes to be handed out now.
func (r *rounds) urge(names ...string) {
	if len(names) == 0 {
		return
	}
	r.mu.Lock()
	r.urged = append(r.urged, names...)
	r.mu.Unlock()
	r.signal()
}

// urgeAll asks for a round now, or as soon as the floor allows.
func (r *rounds) urgeAll() {
	r.mu.Lock()
	r.early = true
	r.mu.Unlock()
	r.signal()
}

func (r *rounds) signal() { notify.Wake(r.wake) }

// taken returns what was asked for since the last time.
func (r *rounds) taken() (urged []string, early bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	urged, early = r.urged, r.early
	r.urged, r.early = nil, false
	return urged, early
}

// run hands out until ctx ends. The first round begins when the informer is in sync.
func (r *rounds) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), r.synced) {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	q := newQueue(r.isAlone)
	var began time.Time
	var again bool
	var next *batch
	for {
		if next != nil && !next.urged && q.hurried() {
			q.putBack(next)
			next = nil
		}
		if next == nil {
			next = q.take()
		}
		if q.endRound(next) {
			if again {
				again = false
				timer.Reset(r.untilFloor(began))
			} else {
				timer.Reset(r.period)
			}
		}
		out := r.out
		if next == nil {
			out = nil
		}
		select {
		case <-ctx.Done():
			return
		case out <- next:
			q.handed(next)
			next = nil
		case b := <-r.done:
			q.returned(b)
		case <-r.wake:
			urged, early := r.taken()
			q.urge(urged)
			switch {
			case early && q.inRound:
				again = true
			case early:
				timer.Reset(r.untilFloor(began))
			}
		case <-timer.C:
			if r.onRound != nil && !began.IsZero() {
				r.onRound()
			}
			began = time.Now()
			q.beginRound(r.all())
		}
	}
}

func (r *rounds) untilFloor(began time.Time) time.Duration {
	return max(0, r.floor-time.Since(began))
}

// next gives back what the consumer had, if anything, and waits for more. Without nodes, ctx has ended.
func (r *rounds) next(ctx context.Context, had *batch) ([]*corev1.Node, *batch) {
	for {
		if had != nil {
			select {
			case r.done <- had:
			case <-ctx.Done():
				return nil, nil
			}
		}
		select {
		case had = <-r.out:
		case <-ctx.Done():
			return nil, nil
		}
		if nodes := r.resolve(had); len(nodes) > 0 {
			return nodes, had
		}
	}
}

// resolve returns the nodes as they are now, without those that are gone.
func (r *rounds) resolve(b *batch) []*corev1.Node {
	nodes := make([]*corev1.Node, 0, len(b.names))
	for _, name := range b.names {
		if node, err := r.nodes.Get(name); err == nil {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func (r *rounds) isAlone(name string) bool {
	if r.alone == nil {
		return false
	}
	node, err := r.nodes.Get(name)
	return err == nil && r.alone(node)
}

// all returns the names of all nodes, sorted.
func (r *rounds) all() []string {
	nodes, err := r.nodes.List(labels.Everything())
	if err != nil { // a lister reads from memory: there is nothing that could fail
		return nil
	}
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = node.Name
	}
	slices.Sort(names)
	return names
}

// pace spaces out what is done about news: the first of it waits for debounce, so that what belongs together comes
// together; while it does not stop, the wait doubles up to floor.
type pace struct {
	debounce, floor time.Duration

	gap  time.Duration
	last time.Time
}

// wait waits until it is time to act on news that has just come; false when ctx ended first.
func (p *pace) wait(ctx context.Context) bool {
	if time.Since(p.last) > p.gap {
		p.gap = p.debounce
	} else {
		p.gap = min(2*p.gap, p.floor)
	}
	err := backoff.Sleep(ctx, p.gap)
	p.last = time.Now()
	return err == nil
}
