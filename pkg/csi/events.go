package csi

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// newRecorder returns a recorder of Kubernetes events, until stop is called.
func newRecorder(ctx context.Context, client kubernetes.Interface) (_ record.EventRecorder, stop func()) {
	b := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	watch := b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	stop = func() {
		watch.Stop()
		b.Shutdown()
	}
	return b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "vsphere-csi-controller"}), stop
}
