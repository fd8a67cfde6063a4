package config

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// secretWait is how long a login waits for the first reading of its Secret.
const secretWait = 5 * time.Second

// secret follows one Secret, by a watch of that name alone: a Role that grants list and watch of it is all it needs.
type secret struct {
	ref     SecretRef
	client  kubernetes.Interface
	changed func(exists bool)

	first chan struct{} // closed when it has been read, or been found not to be there

	mu   sync.Mutex
	data map[string][]byte // nil when there is none
	err  error             // why it cannot be read at the moment
}

func newSecret(client kubernetes.Interface, ref SecretRef, changed func(bool)) *secret {
	return &secret{ref: ref, client: client, changed: changed, first: make(chan struct{})}
}

// follow watches until ctx ends.
func (s *secret) follow(ctx context.Context) {
	factory := informers.NewSharedInformerFactoryWithOptions(s.client, 0,
		informers.WithNamespace(s.ref.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, s.ref.Name).String()
		}))
	informer := factory.Core().V1().Secrets().Informer()
	// Neither call can fail before the informer has been started.
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		s.failed(err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	handler, _ := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.set(o, false) },
		UpdateFunc: func(_, o any) { s.set(o, false) },
		DeleteFunc: func(o any) { s.set(o, true) },
	})
	factory.StartWithContext(ctx)
	if cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
		close(s.first)
	}
	<-ctx.Done()
	factory.Shutdown()
}

func (s *secret) set(o any, deleted bool) {
	found, ok := o.(*corev1.Secret)
	if ok && (found.Name != s.ref.Name || found.Namespace != s.ref.Namespace) {
		return // the field selector asked for no other, but that is for the server to honor
	}
	s.mu.Lock()
	s.err, s.data = nil, nil
	if ok && !deleted {
		if s.data = found.Data; s.data == nil {
			s.data = map[string][]byte{}
		}
	}
	exists := s.data != nil
	s.mu.Unlock()
	s.changed(exists)
}

func (s *secret) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// credentials returns what the Secret holds for a server. At the start it waits a little for it to be read.
func (s *secret) credentials(ctx context.Context, server string) (provider.Credentials, error) {
	timer := time.NewTimer(secretWait)
	defer timer.Stop()
	read := true
	select {
	case <-s.first:
	case <-timer.C:
		read = false
	case <-ctx.Done():
		read = false
	}
	s.mu.Lock()
	data, err := s.data, s.err
	s.mu.Unlock()
	var c provider.Credentials
	switch {
	case data != nil:
		c, err = provider.ParseSecret("secret", data).For(server)
	case err == nil && read:
		err = errors.New("does not exist")
	case err == nil:
		err = errors.New("not read yet")
	}
	if err != nil {
		return c, fmt.Errorf("secret %s/%s: %w", s.ref.Namespace, s.ref.Name, err)
	}
	return c, nil
}
