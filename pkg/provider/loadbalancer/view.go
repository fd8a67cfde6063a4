package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/nsx"
)

// Collections of NSX.
const (
	lbServices = "/infra/lb-services"
	servers    = "/infra/lb-virtual-servers"
	pools      = "/infra/lb-pools"
	monitors   = "/infra/lb-monitor-profiles"
	profiles   = "/infra/lb-app-profiles"
	ipPools    = "/infra/ip-pools"
)

// allocationsOf returns the collection of the allocations of an IP pool.
func allocationsOf(pool string) string { return ipPools + "/" + pool + "/ip-allocations" }

// poolOf returns the identifier of the IP pool of an allocation, "" for another object.
func poolOf(path string) string {
	rest, ok := strings.CutPrefix(path, ipPools+"/")
	pool, _, below := strings.Cut(rest, "/ip-allocations/")
	if !ok || !below {
		return ""
	}
	return pool
}

// maxAge is how old the last reading may be when an operation begins. Operations in a row share one.
const maxAge = 10 * time.Second

// maxBurnt is how many paths of deleted objects are remembered: NSX takes them again after some minutes.
const maxBurnt = 10_000

// view is what is known of NSX: the objects of our owner, and the load balancer services of all. It is safe for concurrent use.
type view struct {
	client *nsx.Client
	owner  nsx.Tag
	// ids returns the IP pools of the classes, as far as they exist.
	ids func(context.Context) ([]string, error)

	mu      sync.Mutex
	objects map[string]nsx.Object // by path
	at      time.Time             // of the last reading; zero for none, or after a doubt
	reading *reading              // nil for none
	written map[string]nsx.Object // what was written while reading; nil for deleted
	burnt   map[string]bool       // paths that NSX may not take yet, because their objects were deleted
	names   map[string]string     // paths by collection and name
}

// reading is a reading in progress.
type reading struct {
	done chan struct{}
	err  error
}

// refresh reads NSX unless the last reading is at most age old.
func (v *view) refresh(ctx context.Context, age time.Duration) error {
	v.mu.Lock()
	if !v.at.IsZero() && time.Since(v.at) <= age {
		v.mu.Unlock()
		return nil
	}
	if r := v.reading; r != nil {
		v.mu.Unlock()
		select {
		case <-r.done:
			if errors.Is(r.err, context.Canceled) && ctx.Err() == nil {
				return v.refresh(ctx, age)
			}
			return r.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r := &reading{done: make(chan struct{})}
	v.reading, v.written = r, map[string]nsx.Object{}
	began := time.Now()
	v.mu.Unlock()

	all, err := v.list(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		for path, o := range v.written {
			if o == nil {
				delete(all, path)
			} else {
				all[path] = o
			}
		}
		v.objects, v.at = all, began
		if len(v.burnt) > maxBurnt {
			clear(v.burnt)
		}
	}
	r.err = err
	v.reading, v.written = nil, nil
	close(r.done)
	return err
}

// list returns the objects by path.
func (v *view) list(ctx context.Context) (map[string]nsx.Object, error) {
	var mu sync.Mutex
	all := map[string]nsx.Object{}
	read := func(collection string) func(context.Context) error {
		return func(ctx context.Context) error {
			list, err := v.client.List(ctx, collection)
			if nsx.NotFound(err) { // an IP pool that has gone
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			for _, o := range list {
				if collection == lbServices || o.Tagged(v.owner) {
					all[o.Path()] = o
				}
			}
			return err
		}
	}
	var configured []string
	err := parallel(ctx, read(lbServices), read(servers), read(pools), read(monitors), func(ctx context.Context) error {
		ids, err := v.ids(ctx)
		configured = ids
		var reads []func(context.Context) error
		for _, id := range ids {
			reads = append(reads, read(allocationsOf(id)))
		}
		return errors.Join(err, parallel(ctx, reads...))
	})
	if err != nil {
		return nil, err
	}
	// Pools of classes that are no longer configured.
	more := map[string]bool{}
	for _, o := range all {
		if id := o.Tag(scopePool); id != "" && !slices.Contains(configured, id) {
			more[id] = true
		}
	}
	var reads []func(context.Context) error
	for id := range more {
		reads = append(reads, read(allocationsOf(id)))
	}
	return all, parallel(ctx, reads...)
}

// doubt makes the next operation read NSX.
func (v *view) doubt() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at = time.Time{}
	clear(v.names)
}

// put records an object as NSX has it.
func (v *view) put(o nsx.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.set(o.Path(), o)
}

// set records an object, nil for deleted. The lock is held.
func (v *view) set(path string, o nsx.Object) {
	if v.written != nil {
		v.written[path] = o
	}
	if o == nil {
		delete(v.objects, path)
		return
	}
	if v.objects == nil {
		v.objects = map[string]nsx.Object{}
	}
	v.objects[path] = o
}

// deleted records that an object was deleted.
func (v *view) deleted(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.set(path, nil)
	v.burn(path)
}

// burn records that NSX may refuse a path. The lock is held.
func (v *view) burn(path string) {
	if v.burnt == nil {
		v.burnt = map[string]bool{}
	}
	v.burnt[path] = true
}

// refused records that NSX does not take a path yet.
func (v *view) refused(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.burn(path)
}

// free reports whether NSX may take a path, as far as known.
func (v *view) free(path string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.burnt[path]
}

// all returns the objects that a function selects, sorted by path.
func (v *view) all(is func(nsx.Object) bool) []nsx.Object {
	v.mu.Lock()
	defer v.mu.Unlock()
	var found []nsx.Object
	for _, o := range v.objects {
		if is(o) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b nsx.Object) int { return strings.Compare(a.Path(), b.Path()) })
	return found
}

// errNoSuchName reports that no object of a collection has a name.
var errNoSuchName = errors.New("does not exist")

// named returns the path of the object of a collection with a name, and with a resource type unless that is "". What it finds is
// kept.
func (v *view) named(ctx context.Context, collection, kind, name string) (string, error) {
	key := collection + "\x00" + kind + "\x00" + name
	v.mu.Lock()
	path := v.names[key]
	v.mu.Unlock()
	if path != "" {
		return path, nil
	}
	list, err := v.client.List(ctx, collection)
	if err != nil {
		return "", err
	}
	for _, o := range list {
		switch {
		case o.Text(nsx.FieldName) != name || kind != "" && o.Text(nsx.FieldType) != kind:
		case path != "":
			return "", fmt.Errorf("name %q: %s and %s have it", name, path, o.Path())
		default:
			path = o.Path()
		}
	}
	if path == "" {
		return "", fmt.Errorf("name %q: %w", name, errNoSuchName)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.names == nil {
		v.names = map[string]string{}
	}
	v.names[key] = path
	return path, nil
}

// parallel runs functions at the same time and returns their errors. The context of the others ends with the first error.
func parallel(ctx context.Context, all ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(all))
	var first error
	var once sync.Once
	var running sync.WaitGroup
	for i, f := range all {
		running.Go(func() {
			if errs[i] = f(ctx); errs[i] != nil {
				once.Do(func() { first = errs[i] })
				cancel()
			}
		})
	}
	running.Wait()
	return first
}

// together is parallel, but lets all functions end: none is canceled.
func together(ctx context.Context, all ...func(context.Context) error) error {
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, f := range all {
		running.Go(func() { errs[i] = f(ctx) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// keyLocks are locks by key.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]*keyLock
}

type keyLock struct {
	sync.Mutex
	users int
}

// lock locks a key and returns what unlocks it.
func (l *keyLocks) lock(key string) func() {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*keyLock{}
	}
	k := l.held[key]
	if k == nil {
		k = &keyLock{}
		l.held[key] = k
	}
	k.users++
	l.mu.Unlock()
	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, key)
		}
	}
}
