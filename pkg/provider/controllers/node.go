package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/cloud-provider/app"
	cloudnode "k8s.io/cloud-provider/controllers/node"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
)

// statusPeriod is --node-status-update-frequency where it is not set.
const statusPeriod = 5 * time.Minute

// noPeriod is that of a stock controller whose lister does the waiting.
const noPeriod = time.Nanosecond

// startNode starts the stock cloud-node controller: app/core.go, startCloudNodeController, with a paced informer.
func (g *group) startNode(init app.ControllerInitContext) app.InitFunc {
	return func(ctx context.Context, generic genericapp.ControllerContext) (controller.Interface, bool, error) {
		if err := g.start(ctx); err != nil {
			return nil, false, err
		}
		again := newRetry(g.nodes().Lister())
		r := g.newRounds(ctx, &rounds{
			period:  orDefault(g.config.ComponentConfig.NodeStatusUpdateFrequency.Duration, statusPeriod),
			onRound: again.all, // the longest that a node waits for its next attempt
		})
		informer := newPacedInformer(ctx, g.nodes(), r, func(h cache.ResourceEventHandler) { again.handler = h })
		stock, err := cloudnode.NewCloudNodeController(
			informer,
			g.config.ClientBuilder.ClientOrDie(init.ClientName),
			quietNode(g.cloud, g.opts.Logger),
			noPeriod,
			g.config.ComponentConfig.NodeController.ConcurrentNodeSyncs,
			g.config.ComponentConfig.NodeController.ConcurrentNodeStatusUpdates,
		)
		if err != nil {
			return nil, false, fmt.Errorf("cloud-node: %w", err)
		}
		g.mu.Lock()
		g.retry = again
		g.mu.Unlock()
		g.nudges.goRun(func() { again.run(ctx) })
		g.nudges.goRun(func() { stock.RunWithContext(ctx, generic.ControllerManagerMetrics) })
		return nil, true, nil
	}
}

// monitorPeriod is --node-monitor-period where it is not set.
const monitorPeriod = 5 * time.Second

// startLifecycle starts stock cloud-node-lifecycle controllers that share the nodes: app/core.go,
// startCloudNodeLifecycleController, with a paced informer.
func (g *group) startLifecycle(init app.ControllerInitContext) app.InitFunc {
	return func(ctx context.Context, generic genericapp.ControllerContext) (controller.Interface, bool, error) {
		if err := g.start(ctx); err != nil {
			return nil, false, err
		}
		r := g.newRounds(ctx, &rounds{
			period: orDefault(g.config.ComponentConfig.KubeCloudShared.NodeMonitorPeriod.Duration, monitorPeriod),
			alone:  troubled,
		})
		client := g.config.ClientBuilder.ClientOrDie(init.ClientName)
		for range g.opts.LifecycleWorkers {
			stock, err := nodelifecycle.NewCloudNodeLifecycleController(
				newPacedInformer(ctx, g.nodes(), r, nil), client, quietLifecycle(g.cloud, g.opts.Logger), noPeriod)
			if err != nil {
				return nil, false, fmt.Errorf("cloud-node-lifecycle: %w", err)
			}
			g.nudges.goRun(func() { stock.Run(ctx, generic.ControllerManagerMetrics) })
		}
		if _, err := g.nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(was, is any) { urgeIfTurned(r, was, is) },
		}); err != nil {
			return nil, false, fmt.Errorf("cloud-node-lifecycle: %w", err)
		}
		return nil, true, nil
	}
}

// urgeIfTurned urges a node whose Ready condition became true or ceased to be.
func urgeIfTurned(r *rounds, was, is any) {
	before, ok1 := was.(*corev1.Node)
	now, ok2 := is.(*corev1.Node)
	if ok1 && ok2 && ready(before) != ready(now) {
		r.urge(now.Name)
	}
}

// pacedInformer is the NodeInformer that one stock controller is given: its lister waits for [rounds], and its informer
// tells onHandler of the handlers that the controller adds. Everything else passes through.
type pacedInformer struct {
	coreinformers.NodeInformer
	lister   *pacedLister
	informer observedInformer
}

// newPacedInformer returns one that waits until ctx ends. onHandler may be nil.
func newPacedInformer(ctx context.Context, nodes coreinformers.NodeInformer, r *rounds, onHandler func(cache.ResourceEventHandler)) pacedInformer {
	return pacedInformer{
		NodeInformer: nodes,
		lister:       &pacedLister{NodeLister: nodes.Lister(), ctx: ctx, rounds: r},
		informer:     observedInformer{SharedIndexInformer: nodes.Informer(), onHandler: onHandler},
	}
}

func (p pacedInformer) Informer() cache.SharedIndexInformer { return p.informer }

func (p pacedInformer) Lister() corelisters.NodeLister { return p.lister }

// pacedLister is a consumer of rounds in the form of a lister. List is called from one goroutine, the controller's
// loop, and calling it says that the nodes of the last call have been looked after.
type pacedLister struct {
	corelisters.NodeLister
	ctx    context.Context // List has none
	rounds *rounds
	held   *batch
}

// List waits for the next batch of rounds when everything is asked for. When the context has ended it returns nothing.
func (l *pacedLister) List(selector labels.Selector) (nodes []*corev1.Node, err error) {
	if !selector.Empty() {
		return l.NodeLister.List(selector)
	}
	nodes, l.held = l.rounds.next(l.ctx, l.held)
	return nodes, nil
}

// observedInformer tells of the handlers that are added to it.
type observedInformer struct {
	cache.SharedIndexInformer
	onHandler func(cache.ResourceEventHandler)
}

func (o observedInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	if o.onHandler != nil {
		o.onHandler(handler)
	}
	return o.SharedIndexInformer.AddEventHandler(handler)
}
