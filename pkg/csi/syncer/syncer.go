package syncer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// CNS is the records of volumes in all configured vCenters; pkg/csi/store.Store implements it.
type CNS interface {
	// Records returns all records of the cluster. An error comes with those of the vCenters that respond.
	Records(ctx context.Context) ([]volume.Record, error)
	// UpdateRecord sets and removes objects of a volume's record. Error: volume.ErrNotFound.
	UpdateRecord(ctx context.Context, id string, set, remove []volume.Entity) error
	// Volume returns a volume. Error: volume.ErrNotFound if no vCenter has it.
	Volume(ctx context.Context, id string) (volume.Volume, error)
	// Adopt registers a first-class disk as a volume. Error: volume.ErrNotFound if no vCenter has the disk.
	Adopt(ctx context.Context, id, name string, entities []volume.Entity) (volume.Volume, error)
	// Unregister removes a volume from CNS and keeps its disk; no error if CNS does not have it.
	Unregister(ctx context.Context, id string) error
}

// Config configures a [Syncer]. CNS and Client are mandatory.
type Config struct {
	CNS    CNS
	Client kubernetes.Interface
	// Dynamic watches TriggerCsiFullSync objects; nil for none.
	Dynamic dynamic.Interface
	// Period is the time between two full syncs; 30 min when zero, as upstream.
	Period time.Duration
	// HealthPeriod is the time between two reads of the health of volumes, which claims get as annotations. A full sync counts as one.
	// 0 writes no health.
	HealthPeriod time.Duration
	// Datastores sends when a datastore has become accessible or inaccessible: the health is read a Delay later. May be nil.
	Datastores <-chan struct{}
	// Delay is how long changes are collected, from the first one; 1 s when zero.
	Delay time.Duration
	// RetryMin and RetryMax bound the time before a failed call is repeated; 1 s and 5 min when zero.
	RetryMin, RetryMax time.Duration
	// Events receives what happened to a PersistentVolume; none when nil.
	Events record.EventRecorder
	// Logger receives changes of state; discarded when nil.
	Logger *slog.Logger
}

// workers is the number of volumes that are synced at the same time. Their updates share calls to CNS.
const workers = 64

// Syncer writes records. Create it with [New] and run it with [Syncer.Run].
type Syncer struct {
	cfg     Config
	cluster *cluster
	queue   workqueue.TypedRateLimitingInterface[string] // of volume ids
	trigger chan int64                                   // numbers of TriggerCsiFullSync objects
	read    time.Time                                    // when the records were read last; for Run

	mu      sync.Mutex
	changed map[string]bool            // volumes whose objects have changed, which are queued together; nil if none is
	known   map[string][]volume.Entity // what CNS has, by volume id
	// unused are volumes that CNS has and no PersistentVolume, and when they are removed from CNS. A volume whose PersistentVolume is
	// deleted is removed at once. Without that event a full sync may be in the middle of a creation, which begins in CNS: then it is the
	// next full sync, as upstream, and half a period later at the earliest.
	unused map[string]time.Time
	// during are volumes whose record was written while a full sync reads: what that has of them may be older.
	during map[string]bool
	health map[string]string // of volumes with a bound PersistentVolume, by id: an annotation's value, or "" while it is not known
}

// New returns a syncer that has not started.
func New(cfg Config) *Syncer {
	cfg.Period = cmp.Or(cfg.Period, 30*time.Minute)
	cfg.Delay = cmp.Or(cfg.Delay, time.Second)
	cfg.RetryMin = cmp.Or(cfg.RetryMin, time.Second)
	cfg.RetryMax = cmp.Or(cfg.RetryMax, 5*time.Minute)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	s := &Syncer{
		cfg:     cfg,
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](cfg.RetryMin, cfg.RetryMax)),
		trigger: make(chan int64, 1),
		known:   map[string][]volume.Entity{}, unused: map[string]time.Time{}, during: map[string]bool{}, health: map[string]string{},
	}
	s.cluster = newCluster(cfg.Client, s.collect, s.leave)
	return s
}

// collect queues a changed volume, with all that change in the same Delay.
func (s *Syncer) collect(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = map[string]bool{}
		time.AfterFunc(s.cfg.Delay, s.release)
	}
	s.changed[id] = true
}

func (s *Syncer) release() {
	s.mu.Lock()
	all := s.changed
	s.changed = nil
	s.mu.Unlock()
	for id := range all {
		s.queue.Add(id)
	}
}

// Run keeps records in agreement until ctx ends, and returns nil. It must be called once.
func (s *Syncer) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	defer s.queue.ShutDown()
	if err := s.cluster.run(ctx, &all); err != nil || ctx.Err() != nil {
		return err
	}
	if s.cfg.Dynamic != nil {
		all.Go(func() { s.watchTrigger(ctx) })
	}
	_ = s.fullSync(ctx) // logs its error; before it, nothing is known of CNS
	for range workers {
		all.Go(func() {
			for s.next(ctx) {
			}
		})
	}
	s.schedule(ctx)
	return nil
}

// schedule runs full syncs and reads of the health when they are due, until ctx ends.
func (s *Syncer) schedule(ctx context.Context) {
	tick := time.NewTicker(s.cfg.Period)
	defer tick.Stop()
	var due, settled <-chan time.Time // due: none without a period; settled: set while changes of datastores are collected
	if s.cfg.HealthPeriod > 0 {
		due = time.After(s.cfg.HealthPeriod)
	}
	for {
		select {
		case <-tick.C:
			_ = s.fullSync(ctx) // logs its error
		case number := <-s.trigger:
			s.triggered(ctx, number)
		case <-due:
			wait := time.Until(s.read.Add(s.cfg.HealthPeriod))
			if wait <= 0 {
				s.readHealth(ctx)
				wait = s.cfg.HealthPeriod
			}
			due = time.After(wait)
		case <-s.cfg.Datastores:
			if settled == nil && s.cfg.HealthPeriod > 0 {
				settled = time.After(s.cfg.Delay)
			}
		case <-settled:
			settled = nil
			s.readHealth(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// fullSync reads all records and queues the volumes whose record differs, or may. It logs its error.
func (s *Syncer) fullSync(ctx context.Context) error {
	began := time.Now()
	s.mu.Lock()
	s.during = map[string]bool{}
	s.mu.Unlock()
	bound := s.cluster.bound()
	records, err := s.cfg.CNS.Records(ctx)
	s.read = time.Now()
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.Warn("full sync is incomplete", "err", err)
	}
	s.setHealth(bound, records, err == nil)
	volumes := s.cluster.volumes()
	s.mu.Lock()
	fresh := make(map[string][]volume.Entity, len(records))
	for _, r := range records {
		fresh[r.ID] = r.Entities
	}
	for id := range s.during {
		fresh[id] = s.known[id]
	}
	if err != nil { // keep what is known of the vCenters that do not respond
		for id, entities := range s.known {
			if _, ok := fresh[id]; !ok {
				fresh[id] = entities
			}
		}
	}
	s.known = fresh
	var all []string
	for _, r := range records {
		if volumes[r.ID] {
			continue
		}
		if _, ok := s.unused[r.ID]; !ok {
			s.unused[r.ID] = began.Add(s.cfg.Period / 2)
			continue
		}
		all = append(all, r.ID)
	}
	for id := range volumes {
		all = append(all, id)
	}
	s.mu.Unlock()
	for _, id := range all {
		s.queue.Add(id)
	}
	s.cfg.Logger.Debug("full sync", "records", len(records), "volumes", len(volumes), "seconds", time.Since(began).Seconds())
	return err
}

// next syncs one volume; false after the queue has been shut down.
func (s *Syncer) next(ctx context.Context) bool {
	id, shutdown := s.queue.Get()
	if shutdown {
		return false
	}
	defer s.queue.Done(id)
	if ctx.Err() != nil {
		return true
	}
	pvs := s.cluster.named(id)
	err := s.sync(ctx, id, pvs)
	if err != nil {
		err = fmt.Errorf("record in CNS: %w", err)
	}
	if err = errors.Join(err, s.annotate(ctx, id, pvs)); err != nil && ctx.Err() == nil {
		s.cfg.Logger.Warn("cannot sync a volume", "volume", id, "err", err)
		s.queue.AddRateLimited(id)
		return true
	}
	s.queue.Forget(id)
	return true
}

// sync brings the record of one volume in agreement with its PersistentVolumes.
func (s *Syncer) sync(ctx context.Context, id string, pvs []*corev1.PersistentVolume) error {
	if len(pvs) == 0 {
		return s.unregister(ctx, id)
	}
	want := s.cluster.entities(pvs)
	s.mu.Lock()
	have, recorded := s.known[id]
	s.unused[id] = time.Time{} // if its PersistentVolumes are deleted
	s.mu.Unlock()
	if !recorded {
		done, created, err := s.unrecorded(ctx, id, pvs[0], want)
		if err != nil || done {
			return err
		}
		have = created
	}
	set, remove := difference(have, want)
	if len(set)+len(remove) > 0 {
		err := s.cfg.CNS.UpdateRecord(ctx, id, set, remove)
		if errors.Is(err, volume.ErrNotFound) { // it is deleted, or was removed from CNS
			s.forget(id)
			return s.adopt(ctx, id, pvs[0], want)
		}
		if err != nil {
			return err
		}
	}
	s.put(id, want)
	return nil
}

// leave makes the removal of a volume from CNS that of a full sync, because the driver deletes it.
func (s *Syncer) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unused, id)
}

// unregister removes a volume without a PersistentVolume from CNS, if it is due. Its disk stays.
func (s *Syncer) unregister(ctx context.Context, id string) error {
	s.mu.Lock()
	due, ok := s.unused[id]
	_, recorded := s.known[id]
	s.mu.Unlock()
	if !ok || !recorded || time.Now().Before(due) {
		return nil
	}
	err := s.cfg.CNS.Unregister(ctx, id)
	if errors.Is(err, volume.ErrUnavailable) {
		return err
	}
	if err != nil { // attached, or it has snapshots: the next full sync tries again
		s.cfg.Logger.Warn("a volume without a PersistentVolume stays in CNS", "volume", id, "err", err)
		return nil
	}
	s.cfg.Logger.Info("removed a volume without a PersistentVolume from CNS; its disk stays", "volume", id)
	s.forget(id)
	return nil
}

func (s *Syncer) put(id string, entities []volume.Entity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[id], s.during[id] = entities, true
}

func (s *Syncer) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
	delete(s.unused, id)
}

// unrecorded handles a volume that had no record at the last full sync. done reports that nothing is left to do. Otherwise it returns
// what CNS has recorded.
func (s *Syncer) unrecorded(ctx context.Context, id string, pv *corev1.PersistentVolume, want []volume.Entity) (done bool, have []volume.Entity, err error) {
	if isDynamic(pv) { // this driver has just created it, with these objects
		return false, createdWith(pv), nil
	}
	_, err = s.cfg.CNS.Volume(ctx, id)
	switch {
	case err == nil: // it was not this cluster's
		return false, nil, nil
	case !errors.Is(err, volume.ErrNotFound):
		return false, nil, err
	}
	return true, nil, s.adopt(ctx, id, pv, want)
}

// adopt registers the existing disk of a bound PersistentVolume as a volume.
func (s *Syncer) adopt(ctx context.Context, id string, pv *corev1.PersistentVolume, want []volume.Entity) error {
	if pv.Spec.ClaimRef == nil || pv.Status.Phase != corev1.VolumeBound {
		return nil
	}
	v, err := s.cfg.CNS.Adopt(ctx, id, pv.Name, want)
	if isDynamic(pv) && errors.Is(err, volume.ErrNotFound) {
		return nil // the volume is lost
	}
	if err != nil {
		s.event(pv, corev1.EventTypeWarning, "RegisterVolumeFailed", fmt.Sprintf("disk %s: %v", id, err))
		return err
	}
	s.cfg.Logger.Info("existing disk is a volume now", "volume", id, "pv", pv.Name, "vcenter", v.VCenter)
	s.event(pv, corev1.EventTypeNormal, "RegisteredVolume", fmt.Sprintf("disk %s is a volume of vcenter %q now", id, v.VCenter))
	s.put(id, want)
	s.adopted(v)
	return nil
}

func (s *Syncer) event(pv *corev1.PersistentVolume, kind, reason, message string) {
	if s.cfg.Events != nil {
		s.cfg.Events.Event(pv, kind, reason, message)
	}
}

// difference returns what must be set and removed in a record.
func difference(have, want []volume.Entity) (set, remove []volume.Entity) {
	old := map[volume.EntityRef]volume.Entity{}
	for _, e := range have {
		old[e.EntityRef] = e
	}
	for _, e := range want {
		before, ok := old[e.EntityRef]
		delete(old, e.EntityRef)
		if !ok || before.Refers != e.Refers || !maps.Equal(before.Labels, e.Labels) {
			set = append(set, e)
		}
	}
	for _, e := range have {
		if _, gone := old[e.EntityRef]; gone {
			remove = append(remove, e)
		}
	}
	return set, slices.Clip(remove)
}
