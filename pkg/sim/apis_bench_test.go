package sim

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	vapisim "github.com/vmware/govmomi/vapi/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/apis"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const one = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: one}
spec:
  vcenters:
    - name: vc
      datacenters: [{name: dc, hosts: [{name: h1}]}]
`

// BenchmarkAPIs registers the smaller APIs of a vCenter. "soap" are those that every vCenter has from its start, without a call: users,
// services, agents, vSAN, and the lists of methods. "rest" are the others before the first call to one of them, and "rest called" after
// it: it registers all of them. B/vCenter is what the heap holds more.
func BenchmarkAPIs(b *testing.B) {
	top, err := topology.Load("one.yaml", []byte(one))
	if err != nil {
		b.Fatal(err)
	}
	ca, err := cert.NewCA("test")
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(b.Context(), Options{Topology: top, CA: ca, Dir: b.TempDir(), Addresses: []string{"127.0.0.1:0"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close(context.WithoutCancel(b.Context())) })
	v := s.vcenters[0].service
	measure := func(name string, ready func() any, register func(any) any) {
		b.Run(name, func(b *testing.B) {
			before := make([]any, b.N)
			for i := range before {
				before[i] = ready()
			}
			kept := make([]any, b.N)
			held := heap()
			b.ResetTimer()
			for i := range b.N {
				kept[i] = register(before[i])
			}
			b.StopTimer()
			b.ReportMetric(float64(heap()-held)/float64(b.N), "B/vCenter")
			runtime.KeepAlive(before)
			runtime.KeepAlive(kept)
		})
	}
	rest := func() any {
		_, next := vapisim.New(v.vcsim.Listen, v.ctx.Map)
		return next
	}
	measure("soap", func() any { return http.NewServeMux() }, func(mux any) any {
		v.vcsim.ServeMux = mux.(*http.ServeMux) // a path can be registered once
		registries := v.directory(&top.Spec.VCenters[0])
		return []any{registries, apis.About(registries...), apis.Vars(v.ctx.Map)}
	})
	measure("rest", rest, func(next any) any { return apis.REST(v.ctx.Map, v.vcsim.Listen, next.(http.Handler)) })
	measure("rest called", rest, func(next any) any {
		h := apis.REST(v.ctx.Map, v.vcsim.Listen, next.(http.Handler))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/rest/vcenter/cluster/modules", http.NoBody))
		return h
	})
}

// heap returns what the heap holds, without garbage.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
