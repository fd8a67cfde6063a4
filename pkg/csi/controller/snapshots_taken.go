package controller

import (
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// maxTaken bounds what is remembered: the latest snapshots.
const maxTaken = 4096

// taken remembers which volume's snapshot has which name. The zero value is ready.
type taken struct {
	mu     sync.Mutex
	byName map[string]volume.SnapshotRef
	order  []string // of byName, oldest first
}

func (t *taken) get(name string) (volume.SnapshotRef, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ref, ok := t.byName[name]
	return ref, ok
}

func (t *taken) add(name string, ref volume.SnapshotRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]volume.SnapshotRef{}
	}
	if _, ok := t.byName[name]; !ok {
		t.order = append(t.order, name)
	}
	t.byName[name] = ref
	if len(t.order) > maxTaken {
		delete(t.byName, t.order[0])
		t.order = t.order[1:]
	}
}

func (t *taken) remove(ref volume.SnapshotRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, name := range t.order {
		if t.byName[name] == ref {
			delete(t.byName, name)
			t.order = append(t.order[:i:i], t.order[i+1:]...)
			return
		}
	}
}
