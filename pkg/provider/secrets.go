package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// secretWait is how long a login waits for the first reading of its Secret.
const secretWait = 5 * time.Second

// secrets follows the Secrets that hold credentials, each by a watch of that one name: a Role that grants get, list and
// watch on it is all that is needed.
type secrets struct {
	log     *slog.Logger
	changed func(config.SecretRef)

	mu   sync.Mutex
	held map[config.SecretRef]*heldSecret
}

// heldSecret is the last state of one Secret.
type heldSecret struct {
	data map[string][]byte // nil when it does not exist
	read chan struct{}     // closed when it has been read for the first time
	err  error             // why it cannot be read at the moment
}

func newSecrets(log *slog.Logger, changed func(config.SecretRef)) *secrets {
	return &secrets{log: log, changed: changed, held: map[config.SecretRef]*heldSecret{}}
}

// want adds a Secret to those that follow will follow.
func (s *secrets) want(ref config.SecretRef) {
	if s.held[ref] == nil {
		s.held[ref] = &heldSecret{read: make(chan struct{})}
	}
}

// follow watches every wanted Secret until ctx ends; running counts what it started.
func (s *secrets) follow(ctx context.Context, client kubernetes.Interface, running *sync.WaitGroup) {
	for ref := range s.held {
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithNamespace(ref.Namespace),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) {
				o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
			}))
		informer := factory.Core().V1().Secrets().Informer()
		// Neither call can fail before the informer has been started.
		_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			s.failed(ref, err)
			cache.DefaultWatchErrorHandler(ctx, r, err)
		})
		handler, _ := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { s.set(ref, o, false) },
			UpdateFunc: func(_, o any) { s.set(ref, o, false) },
			DeleteFunc: func(o any) { s.set(ref, o, true) },
		})
		factory.StartWithContext(ctx)
		running.Go(func() {
			if cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
				s.firstRead(ref)
			}
			<-ctx.Done()
			factory.Shutdown()
		})
	}
}

// set takes over what the watch says of a Secret.
func (s *secrets) set(ref config.SecretRef, o any, deleted bool) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err != nil || key != ref.Namespace+"/"+ref.Name {
		return // the field selector asked for no other, but that is for the server to honour
	}
	secret, ok := o.(*v1.Secret)
	deleted = deleted || !ok
	s.mu.Lock()
	h := s.held[ref]
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

// failed notes why a Secret cannot be read.
func (s *secrets) failed(ref config.SecretRef, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[ref].err = err
}

// firstRead notes that the first listing is complete.
func (s *secrets) firstRead(ref config.SecretRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.held[ref].read)
}

// credentials returns what the Secret holds for a server. At the very start it waits a little for the Secret to be
// read.
func (s *secrets) credentials(ctx context.Context, ref config.SecretRef, server string) (vcenter.Credentials, error) {
	s.mu.Lock()
	h := s.held[ref]
	s.mu.Unlock()
	t := time.NewTimer(secretWait)
	defer t.Stop()
	select {
	case <-h.read:
	case <-t.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
			return vcenter.Credentials{}, errors.New("not read yet")
		}
	}
	return plain(config.ParseSecret("secret", h.data).For(server))
}

// plain are credentials for a login. Sessions shared by a session manager are not supported.
func plain(c config.Credentials, err error) (vcenter.Credentials, error) {
	switch {
	case err != nil:
		return vcenter.Credentials{}, err
	case c.User == "" || c.Password == "":
		return vcenter.Credentials{}, errors.New("a session manager is named, but no user and password")
	}
	return vcenter.Credentials{User: c.User, Password: c.Password}, nil
}
