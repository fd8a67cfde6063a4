package services

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/loadbalancer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
)

// rig is rows with an NSX Manager, and what they were last set to.
type rig struct {
	Rows
	mu      sync.Mutex
	objects []api.NSXObject
	reads   int
	set     map[string]api.Service
}

func newRig() *rig {
	r := &rig{set: map[string]api.Service{}}
	r.Background = new(background.Groups)
	r.Set = func(row api.Service, gone bool) {
		if r.set[row.Name] = row; gone {
			delete(r.set, row.Name)
		}
	}
	r.NSX = func() ([]api.NSXObject, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.reads++
		return r.objects, nil
	}
	return r
}

func (r *rig) has(objects ...api.NSXObject) {
	r.mu.Lock()
	r.objects = objects
	r.mu.Unlock()
	r.NSXChanged()
}

func service(edit func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{loadbalancer.ClassAnnotation: "public"}}}
	s.Spec.Type, s.Spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Port: 80}, {Port: 53, Protocol: corev1.ProtocolUDP}}
	if edit != nil {
		edit(s)
	}
	return s
}

// TestRows: a Service has a row while it is of type LoadBalancer, with its addresses and the worst state of its objects in NSX; once
// all are realized, NSX is not read again before something changes.
func TestRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		want := api.Service{Name: "shop/web", Class: "public", Ports: []string{"80/TCP", "53/UDP"}}
		same := func(what string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff([]api.Service{want}, r.list()); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
			if diff := cmp.Diff(map[string]api.Service{"shop/web": want}, r.set); diff != "" {
				t.Errorf("%s, as set: %s", what, diff)
			}
		}
		r.Changed(nil, service(nil), false)
		same("new")
		ok := api.NSXObject{Type: "LBPool", Name: "p", Service: "shop/web", State: "REALIZED"}
		waits := api.NSXObject{Type: "LBVirtualServer", Name: "v", Service: "shop/web", State: "UNREALIZED"}
		r.has(ok, waits, api.NSXObject{Service: "shop/other", State: "ERROR"})
		time.Sleep(2 * time.Second)
		want.NSX = "UNREALIZED"
		same("made in NSX")
		waits.State, waits.Error = "ERROR", "no edge"
		r.mu.Lock()
		r.objects = []api.NSXObject{ok, waits} // realization ends without a change
		r.mu.Unlock()
		time.Sleep(2 * time.Second)
		want.NSX, want.NSXError = "ERROR", "NSX cannot realize LBVirtualServer v: no edge"
		same("failed")
		r.has(ok)
		r.Changed(nil, service(func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "127.1.0.101"}}
			s.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}), false)
		time.Sleep(2 * time.Second)
		want.NSX, want.NSXError, want.Addresses, want.Deleting = "REALIZED", "", []string{"127.1.0.101"}, true
		same("realized")
		before := r.reads
		time.Sleep(time.Hour)
		if r.reads != before {
			t.Errorf("at rest NSX is read %d times", r.reads-before)
		}
		r.Changed(nil, service(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }), false)
		if len(r.list()) > 0 || len(r.set) > 0 {
			t.Errorf("of another type: %v, %v", r.list(), r.set)
		}
		r.Changed(nil, service(nil), false)
		r.Reset()
		if len(r.list()) > 0 || len(r.set) > 0 {
			t.Errorf("after a reset: %v, %v", r.list(), r.set)
		}
		if err := r.Background.End(context.Background(), group); err != nil {
			t.Error(err)
		}
	})
}
