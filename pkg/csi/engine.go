package csi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/controller"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/metrics"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/migrated"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Options configure an [Engine]. Config and Kubernetes are mandatory.
type Options struct {
	Config     config.Options
	Kubernetes *Kubernetes
	// TagRefresh is that of [nodes.Config].
	TagRefresh time.Duration
	// Metrics counts; none when nil.
	Metrics *metrics.Metrics
	// Logger receives changes of state; none when nil.
	Logger *slog.Logger
}

// Engine is the controller with everything below it: connections, nodes, volumes, answers to nodes. Make one with
// [NewEngine] and end it with [Engine.Close]; all other methods may be called from any goroutine.
type Engine struct {
	opts     Options
	log      *slog.Logger
	source   *config.Source
	informer *nodes.Informer
	nodes    *nodes.Nodes

	// Controller is the service. It may be called at once; what is not known yet is Unavailable.
	Controller *controller.Controller

	ends []func() // of what runs, the last to end first; the store ends before the connections

	store *store.Store

	mu     sync.Mutex
	closed bool // the store is
}

// NewEngine reads the configuration and begins to work: everything that it starts ends with Close, not with ctx.
func NewEngine(ctx context.Context, o Options) (*Engine, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Config.Secrets, o.Config.Logger = o.Kubernetes.Client, o.Logger
	o.Config.OnCall = func(vc string, call vcenter.Call) { o.Metrics.VCenterCall(vc, call.Method, call.Result, call.Duration) }
	e := &Engine{opts: o, log: o.Logger}
	var err error
	if e.source, err = config.Open(o.Config); err != nil {
		return nil, err
	}
	if e.informer, err = nodes.NewInformer(o.Kubernetes.Client); err != nil {
		return nil, err
	}
	cfg, clients := e.source.Config(), e.source.Clients()
	e.nodes, err = nodes.New(nodes.Config{
		Cluster: e.informer, VCenters: vcentersOf(cfg, clients), Categories: categoriesOf(cfg),
		TagRefresh: o.TagRefresh, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	e.store = store.New(store.Options{
		Clients: clients, Cluster: store.Cluster{ID: cfg.ClusterID, Distribution: cfg.Distribution},
		Nodes:         e.nodes.In,
		SnapshotLimit: cfg.SnapshotLimit, Page: cfg.Page,
		OnOperation: func(op store.Operation) { o.Metrics.Operation(op.VCenter, op.Name, op.Result, op.Duration) },
		OnCall:      o.Config.OnCall,
		Logger:      o.Logger,
	})
	migrating := migrated.New(migrated.Config{
		CNS: e.store, Records: migrated.NewRecords(o.Kubernetes.Dynamic), Logger: o.Logger,
		DatastoreURLs: func() []string { return e.source.Config().MigrationDatastores },
	})
	e.Controller = controller.New(controller.Config{Store: migrating, Migrated: migrating, Nodes: e.nodes, Logger: o.Logger})
	e.run(ctx)
	return e, nil
}

// run begins everything, what others need first.
func (e *Engine) run(ctx context.Context) {
	begin := func(what string, f func(context.Context) error) {
		e.ends = append(e.ends, background(ctx, e.log, what, f))
	}
	recorder, stop := newRecorder(ctx, e.opts.Kubernetes.Client)
	e.ends = append(e.ends, stop)
	begin("connections", func(ctx context.Context) error { return e.source.Run(ctx, e.changed) })
	e.ends = append(e.ends, e.closeStore)
	begin("node informer", e.informer.Run)
	begin("nodes", e.nodes.Run)
	begin("node topology", nodetopology.New(nodetopology.Config{
		Dynamic: e.opts.Kubernetes.Dynamic, Client: e.opts.Kubernetes.Client, Labels: e.informer, Topology: e.nodes,
		Events: recorder, Logger: e.log,
	}).Run)
}

// Close ends what is under way here, logs out, and waits for all of it. It is called once, when nobody calls the
// controller any more.
func (e *Engine) Close() {
	for _, end := range slices.Backward(e.ends) {
		end()
	}
}

func (e *Engine) closeStore() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.store.Close()
}

// changed puts another configuration in force.
func (e *Engine) changed(cfg *config.Config, clients []*vcenter.Client) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if err := e.nodes.Set(vcentersOf(cfg, clients), categoriesOf(cfg)); err != nil {
		e.log.Error("driver config not in force for nodes", "err", err)
	}
	e.store.Set(clients)
	e.store.SetSnapshotLimit(cfg.SnapshotLimit)
}

// vcentersOf joins what is configured with its connections, which are in the same order.
func vcentersOf(cfg *config.Config, clients []*vcenter.Client) []nodes.VCenter {
	all := make([]nodes.VCenter, len(clients))
	for i, c := range clients {
		all[i] = nodes.VCenter{Client: c, Datacenters: cfg.VCenters[i].Datacenters}
	}
	return all
}

func categoriesOf(cfg *config.Config) []nodes.Category {
	var all []nodes.Category
	for _, name := range cfg.Categories {
		all = append(all, nodes.Category{Name: name, Key: cmp.Or(cfg.Labels[name], names.TopologyPrefix+name)})
	}
	return all
}

// Status returns how every vCenter fares, from memory: connected, and in sync when it is known which VMs, hosts and
// datastores it has.
func (e *Engine) Status(ctx context.Context) []health.Status {
	clients := e.source.Clients()
	all := make([]health.Status, len(clients))
	for i, c := range clients {
		s := health.Status{Tenant: c.Name(), Connected: c.State().Connected, Err: c.State().Err}
		// In sync it is known that there is no such datastore.
		_, err := e.nodes.SegmentsOf(ctx, c.Name(), "")
		if s.Synced = err == nil || errors.Is(err, volume.ErrNotFound); !s.Synced {
			s.Err = err
		}
		all[i] = s
	}
	return all
}

// Ready returns why nothing can be done at all; nil when one vCenter is in sync.
func (e *Engine) Ready(ctx context.Context) error {
	if _, known := e.informer.Nodes(); !known {
		return errors.New("the cluster's nodes are not known yet")
	}
	var errs []error
	for _, s := range e.Status(ctx) {
		if s.Connected && s.Synced {
			return nil
		}
		errs = append(errs, s.Err)
	}
	return errors.Join(errs...)
}

// WaitReady waits until everything is known of every vCenter, or returns what is not when ctx ends.
func (e *Engine) WaitReady(ctx context.Context) error { return e.nodes.WaitSynced(ctx) }

// measures is what metrics tell of the vCenters.
func measures(all []health.Status) []metrics.VCenter {
	var list []metrics.VCenter
	for _, s := range all {
		list = append(list, metrics.VCenter{Name: s.Tenant, Connected: s.Connected, Synced: s.Synced})
	}
	return list
}

// newRecorder returns a recorder of Kubernetes events, until stop is called.
func newRecorder(ctx context.Context, client kubernetes.Interface) (_ record.EventRecorder, stop func()) {
	b := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	watch := b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	stop = func() {
		watch.Stop()
		b.Shutdown()
	}
	return b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "vsphere-csi-controller"}), stop
}
