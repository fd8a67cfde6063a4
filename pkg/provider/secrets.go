package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// secretWait is how long a login waits for the first reading of its Secret.
const secretWait = 5 * time.Second

var errNotRead = errors.New("not read yet")

// secrets follows the Secrets that hold credentials.
type secrets struct {
	log     *slog.Logger
	changed func(config.SecretRef)

	mu    sync.Mutex
	held  map[config.SecretRef]*heldSecret
	begin func(config.SecretRef, *heldSecret) // nil until follow
}

// heldSecret is the last state of one Secret.
type heldSecret struct {
	data map[string][]byte  // nil when it does not exist
	read chan struct{}      // closed when it has been read for the first time
	err  error              // why it cannot be read at the moment
	stop context.CancelFunc // nil until it is followed
}

func newSecrets(log *slog.Logger, changed func(config.SecretRef)) *secrets {
	return &secrets{log: log, changed: changed, held: map[config.SecretRef]*heldSecret{}}
}

// want has a Secret followed from now on, or from follow on.
func (s *secrets) want(ref config.SecretRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[ref] != nil {
		return
	}
	h := &heldSecret{read: make(chan struct{})}
	s.held[ref] = h
	if s.begin != nil {
		s.begin(ref, h)
	}
}

// follow begins to watch the wanted Secrets, until ctx ends; running counts what it starts.
func (s *secrets) follow(ctx context.Context, client kubernetes.Interface, running *sync.WaitGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin = func(ref config.SecretRef, h *heldSecret) {
		var of context.Context
		of, h.stop = context.WithCancel(ctx)
		s.watch(of, client, running, ref, h)
	}
	for ref, h := range s.held {
		s.begin(ref, h)
	}
}

// keep ends the watches of all but these.
func (s *secrets) keep(refs map[config.SecretRef]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, h := range s.held {
		if refs[ref] {
			continue
		}
		if h.stop != nil {
			h.stop()
		}
		delete(s.held, ref)
	}
}

// set takes over what the watch says of a Secret.
func (s *secrets) set(ref config.SecretRef, h *heldSecret, o any, deleted bool) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err != nil || key != ref.Namespace+"/"+ref.Name {
		return // the field selector asked for no other, but that is for the server to honor
	}
	secret, ok := o.(*corev1.Secret)
	deleted = deleted || !ok
	s.mu.Lock()
	h.err = nil
	if deleted {
		h.data = nil
	} else {
		h.data = secret.Data
	}
	s.mu.Unlock()
	s.log.Info("credentials secret changed", "namespace", ref.Namespace, "secret", ref.Name, "exists", !deleted)
	s.changed(ref)
}

// failed notes why a Secret cannot be read, and tells it where there is no older reading.
func (s *secrets) failed(ref config.SecretRef, h *heldSecret, err error) {
	s.mu.Lock()
	first := h.err == nil && h.data == nil
	h.err = err
	s.mu.Unlock()
	if first {
		s.changed(ref)
	}
}

// listed notes that the Secret has been read for the first time, and tells it when there is none.
func (s *secrets) listed(ref config.SecretRef, h *heldSecret) {
	s.mu.Lock()
	exists := h.data != nil
	h.err = nil
	close(h.read)
	s.mu.Unlock()
	if !exists {
		s.changed(ref)
	}
}

// credentials returns what the Secret holds for a server. At the very start it waits a little for the Secret to be
// read.
func (s *secrets) credentials(ctx context.Context, ref config.SecretRef, server string) (vcenter.Credentials, error) {
	s.mu.Lock()
	h := s.held[ref]
	s.mu.Unlock()
	if h == nil {
		return s.now(ref, server)
	}
	t := time.NewTimer(secretWait)
	defer t.Stop()
	select {
	case <-h.read:
	case <-t.C:
	case <-ctx.Done():
	}
	return s.now(ref, server)
}

// now returns what the Secret holds for a server as far as it has been read.
func (s *secrets) now(ref config.SecretRef, server string) (vcenter.Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[ref]
	if h == nil {
		return vcenter.Credentials{}, fmt.Errorf("secret %s/%s: no longer in use", ref.Namespace, ref.Name)
	}
	c, err := h.credentials(server)
	if err != nil {
		return c, fmt.Errorf("secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	return c, nil
}

func (h *heldSecret) credentials(server string) (vcenter.Credentials, error) {
	switch {
	case h.data == nil && h.err != nil:
		return vcenter.Credentials{}, h.err
	case h.data == nil:
		select {
		case <-h.read:
			return vcenter.Credentials{}, errors.New("does not exist")
		default:
			return vcenter.Credentials{}, errNotRead
		}
	}
	return plain(config.ParseSecret("secret", h.data).For(server))
}
