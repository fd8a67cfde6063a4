package controllers

import (
	"context"
	"fmt"
	"strings"
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

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// statusPeriod is the default of --node-status-update-frequency.
const statusPeriod = 5 * time.Minute

// noPeriod is the period of a stock controller, because its lister waits.
const noPeriod = time.Nanosecond

// startNode starts the stock cloud-node controller, as app/core.go, startCloudNodeController, with a paced informer.
func (g *group) startNode(init app.ControllerInitContext) app.InitFunc {
	return func(ctx context.Context, generic genericapp.ControllerContext) (controller.Interface, bool, error) {
		if err := g.start(ctx); err != nil {
			return nil, false, err
		}
		again := newRetry(g.nodes().Lister())
		r := g.newRounds(ctx, &rounds{
			period:  orDefault(g.config.ComponentConfig.NodeStatusUpdateFrequency.Duration, statusPeriod),
			onRound: again.all, // the longest wait before a node's next attempt
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

// monitorPeriod is the default of --node-monitor-period.
const monitorPeriod = 5 * time.Second

// lifecycleWorkers is how many nodes that are not ready are processed at once, at least. The default of upstream's
// --concurrent-node-lifecycle-syncs is 1.
const lifecycleWorkers = 4

// startLifecycle starts stock cloud-node-lifecycle controllers that share the nodes, as app/core.go,
// startCloudNodeLifecycleController, with a paced informer. One controller with several workers would not do: it waits for
// the slowest node before it asks for the next ones.
func (g *group) startLifecycle(init app.ControllerInitContext) app.InitFunc {
	return func(ctx context.Context, generic genericapp.ControllerContext) (controller.Interface, bool, error) {
		if err := g.start(ctx); err != nil {
			return nil, false, err
		}
		config := g.config.ComponentConfig.NodeLifecycleController
		r := g.newRounds(ctx, &rounds{
			period: orDefault(config.NodeMonitorPeriod.Duration, monitorPeriod),
			alone:  needsAttention,
		})
		client := g.config.ClientBuilder.ClientOrDie(init.ClientName)
		for range max(lifecycleWorkers, int(config.ConcurrentNodeLifecycleSyncs)) {
			stock, err := nodelifecycle.NewCloudNodeLifecycleController(
				newPacedInformer(ctx, g.nodes(), r, nil), client, quietLifecycle(g.cloud, g.opts.Logger), noPeriod, 1)
			if err != nil {
				return nil, false, fmt.Errorf("cloud-node-lifecycle: %w", err)
			}
			g.nudges.goRun(func() { stock.Run(ctx, generic.ControllerManagerMetrics) })
		}
		if _, err := g.nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(was, is any) { urgeOnReadyChange(r, was, is) },
		}); err != nil {
			return nil, false, fmt.Errorf("cloud-node-lifecycle: %w", err)
		}
		return nil, true, nil
	}
}

// urgeOnReadyChange urges a node whose Ready condition has changed.
func urgeOnReadyChange(r *rounds, was, is any) {
	before, ok1 := was.(*corev1.Node)
	now, ok2 := is.(*corev1.Node)
	if ok1 && ok2 && ready(before) != ready(now) {
		r.urge(now.Name)
	}
}

// pacedInformer is the NodeInformer of one stock controller: its lister waits for [rounds], and its informer passes the
// handlers that the controller adds to onHandler. Everything else is unchanged.
type pacedInformer struct {
	coreinformers.NodeInformer
	lister   *pacedLister
	informer observedInformer
}

// newPacedInformer returns a pacedInformer that waits until ctx ends. onHandler may be nil.
func newPacedInformer(ctx context.Context, nodes coreinformers.NodeInformer, r *rounds, onHandler func(cache.ResourceEventHandler)) pacedInformer {
	return pacedInformer{
		NodeInformer: nodes,
		lister:       &pacedLister{NodeLister: nodes.Lister(), ctx: ctx, rounds: r},
		informer:     observedInformer{SharedIndexInformer: nodes.Informer(), onHandler: onHandler},
	}
}

func (p pacedInformer) Informer() cache.SharedIndexInformer { return p.informer }

func (p pacedInformer) Lister() corelisters.NodeLister { return p.lister }

// pacedLister is a consumer of rounds in the form of a lister. Only the controller's loop calls List; each call means that the
// nodes of the last call have been processed.
type pacedLister struct {
	corelisters.NodeLister
	ctx    context.Context // because List has no context
	rounds *rounds
	held   *batch
}

// List with an empty selector waits for the next batch of rounds. If the context has ended, it returns no nodes.
func (l *pacedLister) List(selector labels.Selector) (nodes []*corev1.Node, err error) {
	if !selector.Empty() {
		return l.NodeLister.List(selector)
	}
	nodes, l.held = l.rounds.next(l.ctx, l.held)
	return nodes, nil
}

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

// indexName is the name of the index of nodes by VM.
const indexName = "vsphere/vm"

func addIndex(informer cache.SharedIndexInformer) error {
	if _, ok := informer.GetIndexer().GetIndexers()[indexName]; ok {
		return nil
	}
	if err := informer.AddIndexers(cache.Indexers{indexName: indexNode}); err != nil {
		return fmt.Errorf("index nodes by vm: %w", err)
	}
	return nil
}

// indexNode is a [cache.IndexFunc]. It returns the VM that a node is bound to, else that of its system UUID.
func indexNode(obj any) ([]string, error) {
	node, ok := obj.(*corev1.Node)
	switch {
	case !ok:
		return nil, nil
	case node.Spec.ProviderID != "":
		return []string{vmKey(node.Spec.ProviderID)}, nil
	case node.Status.NodeInfo.SystemUUID != "":
		return []string{vmKey(node.Status.NodeInfo.SystemUUID)}, nil
	}
	return nil, nil
}

// vmKey is the same for all spellings of a VM's UUID: as a providerID or bare, in either byte order.
func vmKey(id string) string {
	u, err := match.ParseProviderID(id)
	if err != nil {
		return strings.ToLower(strings.TrimSpace(id))
	}
	return min(u.String(), u.Swapped().String())
}
