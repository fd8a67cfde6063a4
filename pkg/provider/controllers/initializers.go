package controllers

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
)

// RelabelController is the name of the controller that keeps zone labels true, for --controllers.
const RelabelController = "node-relabel"

// Options tune what [Initializers] makes. The zero value is right for production.
type Options struct {
	// RelabelZones adds the controller that keeps the labels of region and zone true after a node is initialized. It is
	// off upstream, and without it, because the zone of a volume does not follow.
	RelabelZones bool
	// LifecycleWorkers is how many nodes that are not ready are looked after at once; 4 when zero (upstream: 1).
	LifecycleWorkers int
	// Debounce is how long news waits for more; 100 ms when zero.
	Debounce time.Duration
	// Floor is the least time between two rounds over all nodes, and what news is spaced to while it does not stop; 1 s
	// when zero.
	Floor time.Duration
	// Logger receives what the controllers that are not stock have to say; none when nil.
	Logger *slog.Logger
}

// Names returns the names of all controllers there may be, whatever the options: those that --controllers may name.
func Names() []string {
	all := append(app.ControllerNames(app.DefaultInitFuncConstructors), RelabelController)
	slices.Sort(all)
	return all
}

// Initializers returns the controllers for what the cloud offers, for [app.Run]: those of k8s.io/cloud-provider, of
// which cloud-node and cloud-node-lifecycle listen to n (see the package's documentation), and the one for zone labels
// when it is wanted. Those for load balancers and routes are left out when cloud has none: they would give up by
// themselves, but complain about it first. Periods and numbers of workers are those of c.
//
// n may be nil; then only the nodes' own events make them faster. The functions start goroutines that end with the
// context they are given; [Nudges.Wait] waits for them.
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

// replace puts start in the place of the stock constructor, under its name and with its identity.
func replace(in map[string]app.ControllerInitFuncConstructor, name string, start func(app.ControllerInitContext) app.InitFunc) {
	constructor := in[name]
	constructor.Constructor = func(init app.ControllerInitContext, _ *ccmconfig.CompletedConfig, _ cloudprovider.Interface) app.InitFunc {
		return start(init)
	}
	in[name] = constructor
}
