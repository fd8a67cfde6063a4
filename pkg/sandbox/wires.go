package sandbox

import (
	"errors"
	"fmt"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/wire"
)

// wires are the ways of components to the API server: each has its own, so that it can be taken from one alone. The zero
// value is ready to use, from any goroutine.
type wires struct {
	mu     sync.Mutex
	of     map[string]*wire.Wire
	closed bool
}

// wireFor returns the address (host:port) at which a component reaches the API server, the same one each time. The
// address serves as soon as the API server does, and until the control plane is stopped.
func (s *Sandbox) wireFor(component string) (addr string, err error) {
	w := &s.wires
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return "", errors.New("the sandbox is stopping")
	}
	if has := w.of[component]; has != nil {
		return has.Addr(), nil
	}
	made, err := wire.Listen(s.cluster.Addr())
	if err != nil {
		return "", fmt.Errorf("%s: %w", component, err)
	}
	if w.of == nil {
		w.of = map[string]*wire.Wire{}
	}
	w.of[component] = made
	return made.Addr(), nil
}

// find returns the wire of a component, nil when it has none.
func (w *wires) find(component string) *wire.Wire {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[component]
}

// drop ends the wire of a component that is gone for good.
func (w *wires) drop(component string) error {
	w.mu.Lock()
	gone := w.of[component]
	delete(w.of, component)
	w.mu.Unlock()
	if gone == nil {
		return nil
	}
	return gone.Close()
}

// close ends all of them, and no more are made.
func (w *wires) close() error {
	w.mu.Lock()
	all := w.of
	w.of, w.closed = nil, true
	w.mu.Unlock()
	var errs []error
	for _, one := range all {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}
