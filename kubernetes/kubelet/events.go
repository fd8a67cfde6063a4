package kubelet

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/kubelet"
)

// eventQPS and eventBurst bound the Events of a node. The recorder also bounds those of each object, and counts equal ones.
const (
	eventQPS   = 10
	eventBurst = 100
)

// recordEvents makes the kubelet write its Events, until ctx ends.
//
// kubemark gives it a fake recorder, for with any other it watches this host's kernel log for processes that ran out of memory.
// It does so first of all: then it asks for its tracer, and takes the recorder for all else (NewMainKubelet). So the real one
// comes with the tracer.
func recordEvents(ctx context.Context, deps *kubelet.Dependencies, rc *rest.Config, node string) error {
	config := rest.CopyConfig(rc)
	config.QPS, config.Burst = eventQPS, eventBurst
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	b := record.NewBroadcaster(record.WithContext(ctx))
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := b.NewRecorder(legacyscheme.Scheme, corev1.EventSource{Component: "kubelet", Host: node})
	deps.TracerProvider = tracers{noop.NewTracerProvider(), func() { deps.Recorder = recorder }}
	return nil
}

// tracers is a provider of tracers that do nothing.
type tracers struct {
	trace.TracerProvider
	asked func()
}

// Tracer implements trace.TracerProvider.
func (t tracers) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	if name == kubeletTracer {
		t.asked()
	}
	return t.TracerProvider.Tracer(name, options...)
}

// kubeletTracer is the name of the kubelet's own tracer (pkg/kubelet/kubelet.go).
const kubeletTracer = "k8s.io/kubernetes/pkg/kubelet"
