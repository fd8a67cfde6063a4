package controllers

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
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
	"k8s.io/cloud-provider/app"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// group is the controllers of one [Initializers] and their shared parts: the index of nodes by VM, and the goroutine that
// passes changes to the started controllers.
type group struct {
	config *ccmconfig.CompletedConfig
	cloud  cloudprovider.Interface
	nudges *Resyncer
	opts   Options

	mu      sync.Mutex
	started bool
	rounds  []*rounds
	retry   *retry // nil unless cloud-node has been started
}

func (g *group) nodes() coreinformers.NodeInformer {
	return g.config.SharedInformers.Core().V1().Nodes()
}

// start is called by each controller when it starts; the first call starts the processing of changes.
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
		// Before the cache is in sync, bound and unbound VMs are indistinguishable.
		if cache.WaitForCacheSync(ctx.Done(), g.nodes().Informer().HasSynced) {
			g.nudges.forEach(ctx, p, g.dispatch)
		}
	})
	return nil
}

// newRounds starts rounds that run until ctx ends and receive changes. The caller sets the fields of r that differ between
// controllers.
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

// dispatch passes changes to the controllers.
func (g *group) dispatch(n changes) {
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
		again.unknownVM()
	}
}

// byVM returns the nodes that run on a VM according to their providerID or system UUID.
func (g *group) byVM(id string) []*corev1.Node {
	objects, err := g.nodes().Informer().GetIndexer().ByIndex(indexName, vmKey(id))
	if err != nil { // impossible: start has added the index
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

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

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

// initialized reports whether the cloud-node controller has initialized the node.
func initialized(node *corev1.Node) bool {
	return !hasTaint(node, cloudproviderapi.TaintExternalCloudProvider)
}

// needsAttention reports whether the lifecycle controller may query the VM of the node. For a ready node it only removes the
// shutdown taint.
func needsAttention(node *corev1.Node) bool {
	return !ready(node) || hasTaint(node, cloudproviderapi.TaintNodeShutdown)
}

// rounds hands out nodes to its consumers: all nodes after each period, and urged nodes at once. Only one consumer has a node
// at a time. Consumers call [rounds.next] while run runs. All other methods are safe for concurrent use and do not block.
type rounds struct {
	period time.Duration
	floor  time.Duration // the least time between two rounds
	nodes  corelisters.NodeLister
	synced cache.InformerSynced
	// alone selects nodes that are handed out one by one, because processing them may take long; none when nil.
	alone func(*corev1.Node) bool
	// onRound, if set, is called when a round over all nodes begins, except the first one.
	onRound func()

	out, done chan *batch

	mu    sync.Mutex
	urged []string
	early bool
	wake  chan struct{}
}

type batch struct {
	names []string
	urged bool
}

// init makes the channels and returns r.
func (r *rounds) init() *rounds {
	r.out, r.done, r.wake = make(chan *batch), make(chan *batch), make(chan struct{}, 1)
	return r
}

// urge hands out nodes now.
func (r *rounds) urge(names ...string) {
	if len(names) == 0 {
		return
	}
	r.mu.Lock()
	r.urged = append(r.urged, names...)
	r.mu.Unlock()
	r.signal()
}

// urgeAll starts a round now, or as soon as floor allows.
func (r *rounds) urgeAll() {
	r.mu.Lock()
	r.early = true
	r.mu.Unlock()
	r.signal()
}

func (r *rounds) signal() { notify.Wake(r.wake) }

// takeRequests returns the requests since the last call.
func (r *rounds) takeRequests() (urged []string, early bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	urged, early = r.urged, r.early
	r.urged, r.early = nil, false
	return urged, early
}

// run hands out nodes until ctx ends. The first round begins when the informer is in sync.
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
		if next != nil && !next.urged && q.hasUrgent() {
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
			urged, early := r.takeRequests()
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

// next returns the consumer's last batch and waits for another. It returns no nodes if ctx has ended.
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

// resolve returns the current nodes of a batch, without deleted ones.
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

// all returns the sorted names of all nodes.
func (r *rounds) all() []string {
	nodes, err := r.nodes.List(labels.Everything())
	if err != nil { // impossible: a lister reads from memory
		return nil
	}
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = node.Name
	}
	slices.Sort(names)
	return names
}

// pace limits the processing of changes: the first waits for debounce, so that related changes are processed together. While
// changes continue, the wait doubles up to floor.
type pace struct {
	debounce, floor time.Duration

	gap  time.Duration
	last time.Time
}

// wait waits until changes that have just arrived may be processed; false if ctx ends first.
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

// RelabelController is the name of the controller that updates zone labels, for --controllers.
const RelabelController = "node-relabel"

// Options configure [Initializers]. The zero value is right for production.
type Options struct {
	// RelabelZones adds the controller that updates the region and zone labels after a node is initialized. Upstream has no
	// such controller, and it is off by default, because the zone of a volume does not change with the node's.
	RelabelZones bool
	// Debounce is how long a change waits for related ones; 100 ms when zero.
	Debounce time.Duration
	// Floor is the least time between two rounds over all nodes, and between continuing changes; 1 s when zero.
	Floor time.Duration
	// Logger receives the log of the controllers that are not stock; discarded when nil.
	Logger *slog.Logger
}

// Names returns the names of all possible controllers, which are the valid values of --controllers.
func Names() []string {
	all := append(app.ControllerNames(app.DefaultInitFuncConstructors), RelabelController)
	slices.Sort(all)
	return all
}

// Initializers returns the controllers for [app.Run] that cloud supports: those of k8s.io/cloud-provider, of which cloud-node
// and cloud-node-lifecycle react to n (see the package documentation), and the one for zone labels if opts enables it. The
// load balancer and route controllers are omitted if cloud does not support them, because they would log an error before they
// stop. Periods and numbers of workers come from c.
//
// If n is nil, the controllers react only to events of the nodes themselves. The functions start goroutines that end with
// their context; [Resyncer.Wait] waits for them.
func Initializers(c *ccmconfig.CompletedConfig, cloud cloudprovider.Interface, n *Resyncer, opts Options) map[string]app.InitFunc {
	if n == nil {
		n = &Resyncer{}
	}
	opts.Debounce = orDefault(opts.Debounce, 100*time.Millisecond)
	opts.Floor = max(orDefault(opts.Floor, time.Second), opts.Debounce)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	g := &group{config: c, cloud: cloud, nudges: n, opts: opts}

	constructors := maps.Clone(app.DefaultInitFuncConstructors)
	replace(constructors, names.CloudNodeController, g.startNode)
	replace(constructors, names.CloudNodeLifecycleController, g.startLifecycle)
	if _, ok := cloud.LoadBalancer(); !ok {
		delete(constructors, names.ServiceLBController)
	}
	if _, ok := cloud.Routes(); !ok {
		delete(constructors, names.NodeRouteController)
	}
	all := app.ConstructControllerInitializers(constructors, c, cloud)
	if opts.RelabelZones {
		all[RelabelController] = g.startRelabel(constructors[names.CloudNodeController].InitContext)
	}
	return all
}

// replace replaces a stock constructor and keeps its name and identity.
func replace(in map[string]app.ControllerInitFuncConstructor, name string, start func(app.ControllerInitContext) app.InitFunc) {
	constructor := in[name]
	constructor.Constructor = func(init app.ControllerInitContext, _ *ccmconfig.CompletedConfig, _ cloudprovider.Interface) app.InitFunc {
		return start(init)
	}
	in[name] = constructor
}

// maxPending is how many VMs are recorded individually; after that every node counts as affected.
const maxPending = 4096

// Resyncer collects changes at the vCenters for the controllers. All methods are safe for concurrent use. [Resyncer.Changed] and
// [Resyncer.ChangedAll] never block, and changes before the controllers start are kept. The zero value is ready to use with one
// call of [Initializers].
type Resyncer struct {
	mu      sync.Mutex
	pending changes
	wake    chan struct{}

	running sync.WaitGroup
	ended   bool
}

// changes are the changes since the last take.
type changes struct {
	ids        map[string]struct{}
	everything bool
}

// Changed reports that the VM with this providerID was added, changed or removed, in any case and byte order.
func (n *Resyncer) Changed(providerID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.pending.everything:
	case len(n.pending.ids) >= maxPending:
		n.pending = changes{everything: true}
	case n.pending.ids == nil:
		n.pending.ids = map[string]struct{}{providerID: {}}
	default:
		n.pending.ids[providerID] = struct{}{}
	}
	n.signal()
}

// ChangedAll reports that any node may be affected.
func (n *Resyncer) ChangedAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending = changes{everything: true}
	n.signal()
}

// Wait returns when everything that the controllers run has ended, after their context has ended. After that no controller
// starts. It waits for API calls of the stock controllers as long as the client allows, since not all of them use the
// context; their workers end shortly after. With leader election, app.Run's context never ends, so there is nothing to wait
// for.
func (n *Resyncer) Wait() {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	n.running.Wait()
}

// goRun runs f in a goroutine that Wait waits for.
func (n *Resyncer) goRun(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ended {
		n.running.Go(f)
	}
}

// signal wakes each. The lock is held.
func (n *Resyncer) signal() { notify.Wake(n.channel()) }

// channel returns the channel that signals changes. The lock is held.
func (n *Resyncer) channel() chan struct{} {
	if n.wake == nil {
		n.wake = make(chan struct{}, 1)
	}
	return n.wake
}

func (n *Resyncer) take() changes {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := n.pending
	n.pending = changes{}
	return taken
}

// forEach calls f with the changes, paced by p, until ctx ends.
func (n *Resyncer) forEach(ctx context.Context, p pace, f func(changes)) {
	n.mu.Lock()
	wake := n.channel()
	n.mu.Unlock()
	for {
		select {
		case <-wake:
		case <-ctx.Done():
			return
		}
		if !p.wait(ctx) {
			return
		}
		f(n.take())
	}
}
