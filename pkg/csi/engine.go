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

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/controller"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/election"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/metrics"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/migrated"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/syncer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Options configure an [Engine]. Config and Kubernetes are mandatory.
type Options struct {
	Config     config.Options
	Kubernetes *Kubernetes
	// TagRefresh is [nodes.Config.TagRefresh].
	TagRefresh time.Duration
	// FullSync is the time between two full syncs of CNS's records, see [syncer.Config]; 0 writes no records after the creation of
	// volumes, and registers no existing disks.
	FullSync time.Duration
	// VolumeHealth is the time between two reads of the health of volumes, which claims get as annotations; 0 writes none.
	VolumeHealth time.Duration
	// Lead runs the parts of which only one may work in a cluster: the answers to CSINodeTopology objects, and the records in CNS. nil
	// runs them always.
	Lead election.Elector
	// Metrics are the driver's metrics; no metrics when nil.
	Metrics *metrics.Metrics
	// Logger receives changes of state; discarded when nil.
	Logger *slog.Logger
}

// Engine is the controller with everything that it needs: connections, nodes, volumes, and node topology. Create it with
// [NewEngine] and stop it with [Engine.Close]; all other methods are safe for concurrent use.
type Engine struct {
	opts     Options
	log      *slog.Logger
	source   *config.Source
	informer *nodes.Informer
	nodes    *nodes.Nodes

	// Controller is the service. It accepts calls at once, and returns Unavailable for what is not known yet.
	Controller *controller.Controller

	ends []func() // stop functions, called in reverse order; the store ends before the connections

	store *store.Store
	reach chan struct{} // a datastore has become accessible or inaccessible

	mu     sync.Mutex
	closed bool // store is closed
}

// NewEngine loads the configuration and starts. Everything that it starts ends with Close, not with ctx.
func NewEngine(ctx context.Context, o Options) (*Engine, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Config.Secrets, o.Config.Logger = o.Kubernetes.Client, o.Logger
	o.Config.OnCall = func(vc string, call vcenter.Call) { o.Metrics.VCenterCall(vc, call.Method, call.Result, call.Duration) }
	e := &Engine{opts: o, log: o.Logger, reach: make(chan struct{}, 1)}
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
		TagRefresh: o.TagRefresh, OnReach: func() { notify.Wake(e.reach) }, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	e.store = store.New(store.Options{
		Clients: clients, Cluster: store.Cluster{ID: cfg.ClusterID, Distribution: cfg.Distribution},
		Nodes:          e.nodes.In,
		NetPermissions: cfg.NetPermissions,
		SnapshotLimit:  cfg.SnapshotLimit, Page: cfg.Page,
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

// run starts all parts, dependencies first.
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
	leading := map[string]func(context.Context) error{"node topology": func(ctx context.Context) error {
		return nodetopology.New(nodetopology.Config{
			Dynamic: e.opts.Kubernetes.Dynamic, Client: e.opts.Kubernetes.Client, Labels: e.informer, Topology: e.nodes,
			Events: recorder, Logger: e.log,
		}).Run(ctx)
	}}
	if e.opts.FullSync > 0 {
		leading["syncer"] = func(ctx context.Context) error {
			return syncer.New(syncer.Config{
				CNS: e.store, Client: e.opts.Kubernetes.Client, Dynamic: e.opts.Kubernetes.Dynamic, Period: e.opts.FullSync,
				HealthPeriod: e.opts.VolumeHealth, Datastores: e.reach, Events: recorder, Logger: e.log,
			}).Run(ctx)
		}
	}
	if e.opts.Lead != nil {
		begin("leadership", func(ctx context.Context) error { return e.lead(ctx, leading) })
		return
	}
	for what, part := range leading {
		begin(what, part)
	}
}

// lead runs parts whenever this process leads, until ctx ends.
func (e *Engine) lead(ctx context.Context, parts map[string]func(context.Context) error) error {
	var running sync.Mutex // the Lease may be lost and held again before the parts have ended
	for ctx.Err() == nil {
		err := e.opts.Lead(ctx, func(ctx context.Context) {
			running.Lock()
			defer running.Unlock()
			if ctx.Err() != nil {
				return
			}
			e.log.Info("leads")
			for what, part := range parts {
				defer background(ctx, e.log, what, part)()
			}
			<-ctx.Done()
		})
		if err != nil && ctx.Err() == nil {
			e.log.Warn("leads no longer", "err", err)
		}
	}
	return nil
}

// Close stops all parts, logs out, and waits. It must be called once, after the last call of the Controller.
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

// changed puts a new configuration in force.
func (e *Engine) changed(cfg *config.Config, clients []*vcenter.Client) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if err := e.nodes.Set(vcentersOf(cfg, clients), categoriesOf(cfg)); err != nil {
		e.log.Error("driver config cannot be applied to nodes", "err", err)
	}
	e.store.Set(clients)
	e.store.SetSnapshotLimit(cfg.SnapshotLimit)
}

// vcentersOf combines the configured vCenters with their connections, which are in the same order.
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

// Status returns the state of every vCenter from memory: whether it is connected, and in sync, which means that its VMs,
// hosts and datastores are known.
func (e *Engine) Status(ctx context.Context) []health.Status {
	clients := e.source.Clients()
	all := make([]health.Status, len(clients))
	for i, c := range clients {
		s := health.Status{Tenant: c.Name(), Connected: c.State().Connected, Err: c.State().Err}
		// If in sync, the index knows that this datastore does not exist.
		_, err := e.nodes.SegmentsOf(ctx, c.Name(), "")
		if s.Synced = err == nil || errors.Is(err, volume.ErrNotFound); !s.Synced {
			s.Err = err
		}
		all[i] = s
	}
	return all
}

// Ready returns nil if at least one vCenter is in sync, otherwise the reasons.
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

// WaitReady waits until every vCenter is in sync. If ctx ends before, it returns which are not.
func (e *Engine) WaitReady(ctx context.Context) error { return e.nodes.WaitSynced(ctx) }

// measures converts the state of the vCenters for the metrics.
func measures(all []health.Status) []metrics.VCenter {
	var list []metrics.VCenter
	for _, s := range all {
		list = append(list, metrics.VCenter{Name: s.Tenant, Connected: s.Connected, Synced: s.Synced})
	}
	return list
}

// newRecorder returns a recorder of Kubernetes Events, which works until stop is called.
func newRecorder(ctx context.Context, client kubernetes.Interface) (_ record.EventRecorder, stop func()) {
	b := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	watch := b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	stop = func() {
		watch.Stop()
		b.Shutdown()
	}
	return b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "vsphere-csi-controller"}), stop
}
