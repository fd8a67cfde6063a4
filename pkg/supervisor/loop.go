package supervisor

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// callTimeout bounds one pass over an object.
const callTimeout = 30 * time.Second

// loop handles the objects of a resource by their keys: namespace/name.
type loop struct {
	name      string
	queue     workqueue.TypedRateLimitingInterface[string]
	reconcile func(ctx context.Context, key string) error
	pause     *pause
	logger    *slog.Logger
}

func newLoop(name string, reconcile func(context.Context, string) error, p *pause, logger *slog.Logger) *loop {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 10*time.Second)
	return &loop{name: name, queue: workqueue.NewTypedRateLimitingQueue(limiter), reconcile: reconcile, pause: p, logger: logger}
}

func (l *loop) addObject(o any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
		l.queue.Add(key)
	}
}

func (l *loop) addAll(lister cache.GenericLister) {
	list, err := lister.List(labels.Everything())
	if err != nil {
		return
	}
	for _, o := range list {
		l.addObject(o)
	}
}

// work handles objects until the queue is shut down.
func (l *loop) work(ctx context.Context) {
	for {
		key, shut := l.queue.Get()
		if shut {
			return
		}
		l.pause.wait(ctx)
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		err := l.reconcile(limited, key)
		cancel()
		switch {
		case err == nil, ctx.Err() != nil:
			l.queue.Forget(key)
		default:
			if !apierrors.IsConflict(err) { // the change that made it stale is on its way here
				l.logger.Warn("supervisor", "resource", l.name, "key", key, "err", err)
			}
			l.queue.AddRateLimited(key)
		}
		l.queue.Done(key)
	}
}

func split(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, "/")
	return namespace, name
}

// pause holds all loops while it is set. The zero value holds none.
type pause struct {
	mu     sync.Mutex
	paused chan struct{} // closed at the end; nil when not paused
}

func (p *pause) set(paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case paused && p.paused == nil:
		p.paused = make(chan struct{})
	case !paused && p.paused != nil:
		close(p.paused)
		p.paused = nil
	}
}

func (p *pause) is() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused != nil
}

func (p *pause) wait(ctx context.Context) {
	p.mu.Lock()
	paused := p.paused
	p.mu.Unlock()
	if paused == nil {
		return
	}
	select {
	case <-paused:
	case <-ctx.Done():
	}
}
