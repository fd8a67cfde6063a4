package controllers

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	ccmconfig "k8s.io/cloud-provider/app/config"
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
