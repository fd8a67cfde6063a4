package components

import (
	"errors"
	"fmt"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/wire"
)

// Proxies are the TCP proxies by which components reach the API server: each component has its own, so that a fault can cut
// the connection of one alone.
type Proxies struct {
	// Server returns the address of the API server.
	Server func() string

	mu     sync.Mutex
	of     map[string]*wire.Wire
	closed bool
}

// Addr returns the address (host:port) at which a component reaches the API server, the same one each time. The address
// serves as soon as the API server does, and until the control plane is stopped.
func (w *Proxies) Addr(component string) (addr string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return "", errors.New("the sandbox is stopping")
	}
	if has := w.of[component]; has != nil {
		return has.Addr(), nil
	}
	made, err := wire.Listen(w.Server())
	if err != nil {
		return "", fmt.Errorf("%s: %w", component, err)
	}
	if w.of == nil {
		w.of = map[string]*wire.Wire{}
	}
	w.of[component] = made
	return made.Addr(), nil
}

// Find returns the proxy of a component, nil when it has none.
func (w *Proxies) Find(component string) *wire.Wire {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[component]
}

// Drop ends the proxy of a component that is gone for good.
func (w *Proxies) Drop(component string) error {
	w.mu.Lock()
	gone := w.of[component]
	delete(w.of, component)
	w.mu.Unlock()
	if gone == nil {
		return nil
	}
	return gone.Close()
}

// Close ends all of them, and no more are made.
func (w *Proxies) Close() error {
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
