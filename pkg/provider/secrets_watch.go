package provider

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// watch follows one Secret until ctx ends, by a watch of that one name: a Role that grants list and watch on it is
// all that is needed.
func (s *secrets) watch(ctx context.Context, client kubernetes.Interface, running *sync.WaitGroup, ref config.SecretRef, h *heldSecret) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(ref.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, ref.Name).String()
		}))
	informer := factory.Core().V1().Secrets().Informer()
	// Neither call can fail before the informer has been started.
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		s.failed(ref, h, err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	handler, _ := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.set(ref, h, o, false) },
		UpdateFunc: func(_, o any) { s.set(ref, h, o, false) },
		DeleteFunc: func(o any) { s.set(ref, h, o, true) },
	})
	factory.StartWithContext(ctx)
	running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
			s.listed(ref, h)
		}
		<-ctx.Done()
		factory.Shutdown()
	})
}
