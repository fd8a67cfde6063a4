package deployed

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// event waits for an Event.
func (w *world) event(kind, name string, is func(*corev1.Event) bool) *corev1.Event {
	w.t.Helper()
	e, err := w.AwaitEvent(w.t.Context(), 30*time.Second, kind, name, is)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Logf("%s %s: %s (%d): %s", kind, name, e.Reason, e.Count, e.Message)
	return e
}

// awaitReady waits until the DaemonSet says that so many of its pods are ready.
func (w *world) awaitReady(n int32) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	d := w.daemonSet()
	changes, err := w.Client.AppsV1().DaemonSets(d.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, d.Name).String(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer changes.Stop()
	var last appsv1.DaemonSetStatus
	for change := range changes.ResultChan() {
		if now, ok := change.Object.(*appsv1.DaemonSet); ok {
			if last = now.Status; last.NumberReady == n && last.DesiredNumberScheduled == n {
				return
			}
		}
	}
	w.t.Fatalf("%d pods are not ready: %+v", n, last)
}

// writeConf changes vsphere.conf in the ConfigMap.
func (w *world) writeConf(conf string) {
	w.t.Helper()
	m := all[corev1.ConfigMap](w.t, w.manifest, "ConfigMap")[0]
	m.Data[configKey] = conf
	if _, err := w.Client.CoreV1().ConfigMaps(m.Namespace).Update(w.t.Context(), &m, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// holder is who holds the Lease.
func (w *world) holder() string {
	w.t.Helper()
	if holder := w.lease().Spec.HolderIdentity; holder != nil {
		return *holder
	}
	return ""
}

func (w *world) lease() *coordinationv1.Lease {
	w.t.Helper()
	lease, err := w.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(w.t.Context(), "cloud-controller-manager", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return lease
}

// sessions is how many the account of the Secret has at all vCenters.
func (w *world) sessions() (n int) {
	w.t.Helper()
	for _, v := range w.VCenters() {
		user := w.Account(v.Name()).Name
		for _, s := range v.Sessions() {
			if s.User == user {
				n++
			}
		}
	}
	return n
}
