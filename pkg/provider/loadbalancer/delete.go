package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	servicehelper "k8s.io/cloud-provider/service/helpers"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
)

// delete deletes an object.
func (b *Balancer) delete(ctx context.Context, o nsx.Object) error {
	if err := b.cfg.Client.Delete(ctx, o.Path()); err != nil {
		b.view.doubt()
		return err
	}
	b.log.Info("deleted an object in NSX", "path", o.Path(), "name", o.Text(nsx.FieldName))
	b.view.deleted(o.Path())
	return nil
}

// deleteAll deletes objects, those that name others first.
func (b *Balancer) deleteAll(ctx context.Context, f found) error {
	for _, all := range [][]nsx.Object{f.servers, f.pools, slices.Concat(f.monitors, f.allocations)} {
		var deletes []func(context.Context) error
		for _, o := range all {
			deletes = append(deletes, func(ctx context.Context) error { return b.delete(ctx, o) })
		}
		if err := together(ctx, deletes...); err != nil {
			return err
		}
	}
	return nil
}

// deleteOf deletes what was found of a Service's load balancer. A call of a process that has ended may arrive after NSX was read, and make
// an object that names one of these: then they are deleted with what NSX has now.
func (b *Balancer) deleteOf(ctx context.Context, cluster string, s *corev1.Service, f found) error {
	err := b.deleteAll(ctx, f)
	if !nsx.InUse(err) {
		return err
	}
	if f, err = b.find(ctx, cluster, s); err != nil {
		return err
	}
	return b.deleteAll(ctx, f)
}

// deleteUnusedService deletes the load balancer service if it is certainly that of this cluster, and has no virtual server.
func (b *Balancer) deleteUnusedService(ctx context.Context, cluster string) error {
	if b.cfg.Settings.LBServiceID != "" {
		return nil
	}
	uid, err := b.cfg.ClusterUID(ctx)
	if err != nil {
		return err
	}
	b.attached.Lock()
	defer b.attached.Unlock()
	own := b.view.all(func(o nsx.Object) bool {
		return path.Dir(o.Path()) == lbServices && originOf(uid, o.ID()) == ours && o.Tagged(b.owner(), nsx.Tag{Scope: scopeCluster, Tag: cluster})
	})
	for _, o := range own {
		used := b.view.all(func(s nsx.Object) bool { return path.Dir(s.Path()) == servers && s.Text(fieldService) == o.Path() })
		if len(used) > 0 {
			continue
		}
		// Another cluster, or a user by hand, may have a virtual server there.
		if err := b.delete(ctx, o); err != nil && !nsx.InUse(err) {
			return err
		}
	}
	return nil
}

const (
	// period is the time from one collection to the next, as in upstream's provider.
	period = 30 * time.Minute
	// maxLeft is how many Services with leftovers are remembered.
	maxLeft = 10_000
)

// Run deletes what deleted Services have left, every half hour, and checks what NSX makes of new load balancers, until ctx ends.
func (b *Balancer) Run(ctx context.Context, cluster string) {
	var running sync.WaitGroup
	running.Go(func() { b.runChecks(ctx) })
	defer running.Wait()
	pause := backoff.Backoff{Min: 5 * time.Second, Max: period, Jitter: true}
	failures, wait := 0, time.Second
	for backoff.Sleep(ctx, wait) == nil {
		if err := b.Collect(ctx, cluster); err != nil && ctx.Err() == nil {
			failures++
			wait = pause.After(failures)
			b.log.Warn("leftovers in NSX not collected", "err", b.explained(err), "again", wait)
			continue
		}
		failures, wait = 0, period
	}
}

// Collect deletes the objects of Services that no longer exist. It deletes only what is certainly that of this cluster.
func (b *Balancer) Collect(ctx context.Context, cluster string) error {
	uid, err := b.cfg.ClusterUID(ctx)
	if err != nil {
		return err
	}
	if err := b.view.refresh(ctx, 0); err != nil {
		return err
	}
	byService := map[string]found{}
	foreign := map[string][]string{}
	for _, o := range b.view.all(func(o nsx.Object) bool {
		return o.Tagged(b.owner(), nsx.Tag{Scope: scopeCluster, Tag: cluster}) && o.Tag(scopeService) != ""
	}) {
		key := o.Tag(scopeService)
		if originOf(uid, o.ID()) != ours {
			foreign[key] = append(foreign[key], o.Path())
			continue
		}
		f := byService[key]
		f.add(o)
		byService[key] = f
	}
	// After NSX: a Service whose objects were read then is among these.
	list, err := b.cfg.Services(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("the API server has no Services at all, not even its own: nothing is deleted")
	}
	exists := map[string]bool{}
	for _, s := range list {
		if wantsLoadBalancer(&s) || servicehelper.HasLBFinalizer(&s) {
			exists[keyOf(&s)] = true
		}
	}
	var errs []error
	for key := range byService {
		if !exists[key] {
			errs = append(errs, b.collect(ctx, cluster, key))
		}
	}
	for key, paths := range foreign {
		if !exists[key] && b.left.isNew(key, paths) {
			b.log.Warn("objects of a Service that does not exist are not certainly those of this cluster, and are left alone: delete them if no other cluster has this name",
				"service", key, "cluster", cluster, "paths", paths)
		}
	}
	return errors.Join(append(errs, b.deleteUnusedService(ctx, cluster))...)
}

// wantsLoadBalancer reports whether the service controller makes a load balancer for a Service.
func wantsLoadBalancer(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil
}

// collect deletes the objects of a Service if the API server confirms that it has gone.
func (b *Balancer) collect(ctx context.Context, cluster, key string) error {
	namespace, name, ok := strings.Cut(key, "/")
	if !ok || namespace == "" || name == "" {
		return nil // no tag of ours
	}
	defer b.locks.lock(key)()
	s, err := b.cfg.Service(ctx, namespace, name)
	switch {
	case err == nil && (wantsLoadBalancer(s) || servicehelper.HasLBFinalizer(s)):
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("service %s: %w", key, err)
	}
	gone := &corev1.Service{}
	gone.Namespace, gone.Name = namespace, name
	f, err := b.find(ctx, cluster, gone)
	if err != nil {
		return err
	}
	b.log.Info("deleting what a Service has left in NSX that no longer exists", "service", key)
	return b.deleteOf(ctx, cluster, gone, f)
}

// leftovers remembers what was reported about the objects of a Service.
type leftovers struct {
	mu   sync.Mutex
	said map[string]string
}

// isNew reports whether these paths are not what was reported last.
func (l *leftovers) isNew(key string, paths []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(paths)
	text := strings.Join(paths, " ")
	if l.said[key] == text {
		return false
	}
	if l.said == nil || len(l.said) >= maxLeft {
		l.said = map[string]string{}
	}
	l.said[key] = text
	return true
}
