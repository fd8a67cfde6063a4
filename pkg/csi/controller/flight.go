package controller

import (
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// flight is what is being done. CSI lets a driver answer Aborted to a call while an identical one is under way, and a
// sidecar that has given up on a call repeats it: without this each repetition would pile up on the vCenter. Calls about
// different things never meet. The zero value is ready.
type flight struct {
	mu  sync.Mutex
	ids map[string]struct{}
}

// begin notes that something is being done to what the key names. The caller calls end once when it returns nil error.
func (f *flight) begin(what string, key ...string) (end func(), err error) {
	id := what + "\x00" + strings.Join(key, "\x00")
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.ids[id]; ok {
		return nil, status.Errorf(codes.Aborted, "%s %s: the same call is under way: repeat it later", what, strings.Join(key, " and node "))
	}
	if f.ids == nil {
		f.ids = map[string]struct{}{}
	}
	f.ids[id] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.ids, id)
	}, nil
}
