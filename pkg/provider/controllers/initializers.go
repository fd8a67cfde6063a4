package controllers

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// RelabelController is the name of the controller that updates zone labels, for --controllers.
const RelabelController = "node-relabel"

// Options configure [Initializers]. The zero value is right for production.
type Options struct {
	// RelabelZones adds the controller that updates the region and zone labels after a node is initialized. Upstream has no
	// such controller, and it is off by default, because the zone of a volume does not change with the node's.
	RelabelZones bool
	// LifecycleWorkers is how many nodes that are not ready are processed at once; 4 when zero (upstream: 1).
	LifecycleWorkers int
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
// their context; [Nudges.Wait] waits for them.
func Initializers(c *ccmconfig.CompletedConfig, cloud cloudprovider.Interface, n *Nudges, opts Options) map[string]app.InitFunc {
	if n == nil {
		n = &Nudges{}
	}
	opts.LifecycleWorkers = cmp.Or(max(0, opts.LifecycleWorkers), 4)
	opts.Debounce = orDefault(opts.Debounce, 100*time.Millisecond)
	opts.Floor = max(orDefault(opts.Floor, time.Second), opts.Debounce)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
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

// Nudges collects changes at the vCenters for the controllers. All methods are safe for concurrent use. [Nudges.Changed] and
// [Nudges.Everything] never block, and changes before the controllers start are kept. The zero value is ready to use with one
// call of [Initializers].
type Nudges struct {
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
func (n *Nudges) Changed(providerID string) {
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

// Everything reports that any node may be affected.
func (n *Nudges) Everything() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending = changes{everything: true}
	n.signal()
}

// Wait returns when everything that the controllers run has ended, after their context has ended. After that no controller
// starts. It waits for API calls of the stock controllers as long as the client allows, since not all of them use the
// context; their workers end shortly after. With leader election, app.Run's context never ends, so there is nothing to wait
// for.
func (n *Nudges) Wait() {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	n.running.Wait()
}

// goRun runs f in a goroutine that Wait waits for.
func (n *Nudges) goRun(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ended {
		n.running.Go(f)
	}
}

// signal wakes each. The lock is held.
func (n *Nudges) signal() { notify.Wake(n.channel()) }

// channel returns the channel that signals changes. The lock is held.
func (n *Nudges) channel() chan struct{} {
	if n.wake == nil {
		n.wake = make(chan struct{}, 1)
	}
	return n.wake
}

func (n *Nudges) take() changes {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := n.pending
	n.pending = changes{}
	return taken
}

// forEach calls f with the changes, paced by p, until ctx ends.
func (n *Nudges) forEach(ctx context.Context, p pace, f func(changes)) {
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
