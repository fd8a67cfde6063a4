package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

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
