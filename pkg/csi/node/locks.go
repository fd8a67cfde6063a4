package node

import (
	"context"
	"fmt"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// locks is a lock for each key that somebody holds or waits for. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	keys map[string]*lock
}

type lock struct {
	held  chan struct{} // of capacity 1
	users int
}

// take returns when nobody else has the key. Error: volume.ErrPending when ctx ends before.
func (l *locks) take(ctx context.Context, key string) (release func(), err error) {
	l.mu.Lock()
	if l.keys == nil {
		l.keys = map[string]*lock{}
	}
	k := l.keys[key]
	if k == nil {
		k = &lock{held: make(chan struct{}, 1)}
		l.keys[key] = k
	}
	k.users++
	l.mu.Unlock()

	select {
	case k.held <- struct{}{}:
		return func() { <-k.held; l.leave(key, k) }, nil
	case <-ctx.Done():
		l.leave(key, k)
		return nil, fmt.Errorf("another operation on it: %w", volume.ErrPending)
	}
}

func (l *locks) leave(key string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.keys, key)
	}
}
