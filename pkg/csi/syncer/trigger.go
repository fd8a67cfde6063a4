package syncer

import (
	"context"
	_ "embed"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

//go:embed crd.yaml
var crd []byte

// CRD returns the CustomResourceDefinition of TriggerCsiFullSync objects as YAML, with the fields of upstream's.
func CRD() []byte { return slices.Clone(crd) }

// Kind is the kind of the object, and Name its name, of which there is one per cluster.
const (
	Kind = "TriggerCsiFullSync"
	Name = "csifullsync"
)

// Resource returns the API resource of the object.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cns.vmware.com", Version: "v1alpha1", Resource: "triggercsifullsyncs"}
}

// watchTrigger creates the object if it is missing, and sends its number when it differs from the one of the last full sync. If the
// API server does not have the kind, it waits for it.
func (s *Syncer) watchTrigger(ctx context.Context) {
	_, err := s.cfg.Dynamic.Resource(Resource()).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Resource().GroupVersion().String(), "kind": Kind, "metadata": map[string]any{"name": Name},
		"spec": map[string]any{"triggerSyncID": int64(0)},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) && ctx.Err() == nil {
		s.cfg.Logger.Info("cannot create the object that requests a full sync", "object", Name, "err", err)
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(s.cfg.Dynamic, Resource(), "", 0, cache.Indexers{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, Name).String()
	}).Informer()
	seen := func(obj any) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok || u.GetName() != Name {
			return
		}
		number, _, _ := unstructured.NestedInt64(u.Object, "spec", "triggerSyncID")
		last, _, _ := unstructured.NestedInt64(u.Object, "status", "lastTriggerSyncID")
		if number == last {
			return
		}
		select {
		case s.trigger <- number:
		default: // one is waiting already, and reads all records
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) }}) // not stopped
	informer.RunWithContext(ctx)
}

// triggered runs a full sync and records it in the object.
func (s *Syncer) triggered(ctx context.Context, number int64) {
	began := metav1.Now()
	err := s.fullSync(ctx)
	client := s.cfg.Dynamic.Resource(Resource())
	u, getErr := client.Get(ctx, Name, metav1.GetOptions{})
	if getErr != nil {
		s.cfg.Logger.Warn("cannot record a full sync", "object", Name, "err", getErr)
		return
	}
	status := map[string]any{
		"inProgress": false, "lastTriggerSyncID": number, "error": "",
		"lastRunStartTimeStamp": began.UTC().Format(time.RFC3339), "lastRunEndTimeStamp": time.Now().UTC().Format(time.RFC3339),
	}
	old, _, _ := unstructured.NestedMap(u.Object, "status")
	for _, key := range []string{"lastSuccessfulStartTimeStamp", "lastSuccessfulEndTimeStamp"} {
		if old[key] != nil {
			status[key] = old[key]
		}
	}
	if err != nil {
		status["error"] = err.Error()
	} else {
		status["lastSuccessfulStartTimeStamp"], status["lastSuccessfulEndTimeStamp"] = status["lastRunStartTimeStamp"], status["lastRunEndTimeStamp"]
	}
	u.Object["status"] = status
	if _, err := client.Update(ctx, u, metav1.UpdateOptions{}); err != nil && ctx.Err() == nil {
		s.cfg.Logger.Warn("cannot record a full sync", "object", Name, "err", err)
	}
}
