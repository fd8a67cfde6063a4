// Package services has a row for each Service of type LoadBalancer: its addresses, and the state of what NSX has of it.
//
// Floor 3.
package services

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/loadbalancer"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
)

const (
	group = "services"
	// settle is how long changes in NSX are collected, again how often objects are looked at that NSX has not realized.
	settle = 50 * time.Millisecond
	again  = time.Second
)

// Rows are the rows of a sandbox. Set the fields before [Rows.Changed]. The methods may be called from any goroutine.
type Rows struct {
	// NSX lists the objects of the NSX Manager: none without one.
	NSX func() ([]api.NSXObject, error)
	// Set receives each row that has changed or is gone.
	Set        func(row api.Service, gone bool)
	Background *background.Groups

	mu       sync.Mutex
	rows     map[string]api.Service
	pending  bool
	watching bool
}

// Changed receives each change of a Service.
func (r *Rows) Changed(_, s *corev1.Service, gone bool) {
	row := rowOf(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.rows[row.Name]
	if gone || s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		if known {
			delete(r.rows, row.Name)
			r.Set(was, true)
		}
		return
	}
	if r.rows == nil {
		r.rows = map[string]api.Service{}
	}
	row.NSX, row.NSXError = was.NSX, was.NSXError
	r.put(row)
	r.refresh()
}

// NSXChanged is called after each change of an object in NSX.
func (r *Rows) NSXChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh()
}

// Reset drops all rows: they are read again after a restore.
func (r *Rows) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.rows {
		r.Set(row, true)
	}
	r.rows, r.pending, r.watching = nil, false, false
}

// Register adds the handlers of the control API.
func (r *Rows) Register(mux *http.ServeMux) {
	mux.Handle("GET /v1/services", control.Answer(func(context.Context) (any, error) { return r.list(), nil }))
}

// list returns the rows by name.
func (r *Rows) list() []api.Service {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []api.Service{}
	for _, name := range slices.Sorted(maps.Keys(r.rows)) {
		all = append(all, r.rows[name])
	}
	return all
}

// put sets a row. The caller holds the lock.
func (r *Rows) put(row api.Service) {
	if was, known := r.rows[row.Name]; known && equal(was, row) {
		return
	}
	r.rows[row.Name] = row
	r.Set(row, false)
}

func equal(a, b api.Service) bool {
	return a.Class == b.Class && a.Deleting == b.Deleting && a.NSX == b.NSX && a.NSXError == b.NSXError &&
		slices.Equal(a.Addresses, b.Addresses) && slices.Equal(a.Ports, b.Ports)
}

// refresh has the states in NSX read soon. The caller holds the lock.
func (r *Rows) refresh() {
	r.pending = true
	if r.watching || r.NSX == nil || len(r.rows) == 0 {
		return
	}
	r.watching = true
	r.Background.Run(group, r.watch)
}

// watch reads the states in NSX until all objects are realized and nothing changes.
func (r *Rows) watch(ctx context.Context) {
	for wait := settle; ; wait = again {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		r.mu.Lock()
		r.pending = false
		r.mu.Unlock()
		objects, err := r.NSX()
		r.mu.Lock()
		unsettled := err != nil
		for name, row := range r.rows {
			if err == nil {
				row.NSX, row.NSXError = explain.InNSX(objects, name)
				r.put(row)
			}
			unsettled = unsettled || row.NSX != "" && row.NSX != explain.Realized
		}
		if !unsettled && !r.pending {
			r.watching = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
	}
}

// rowOf returns the row of a Service, without its state in NSX.
func rowOf(s *corev1.Service) api.Service {
	row := api.Service{Name: s.Namespace + "/" + s.Name, Class: s.Annotations[loadbalancer.ClassAnnotation], Deleting: s.DeletionTimestamp != nil}
	if s.Spec.LoadBalancerClass != nil {
		row.Class = *s.Spec.LoadBalancerClass
	}
	for _, i := range s.Status.LoadBalancer.Ingress {
		row.Addresses = append(row.Addresses, cmp.Or(i.IP, i.Hostname))
	}
	for _, p := range s.Spec.Ports {
		row.Ports = append(row.Ports, strconv.Itoa(int(p.Port))+"/"+string(cmp.Or(p.Protocol, corev1.ProtocolTCP)))
	}
	return row
}
