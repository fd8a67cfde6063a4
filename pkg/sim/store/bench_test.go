package store_test

import (
	"fmt"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
)

// BenchmarkThousandVMs saves and loads a vCenter of 1,000 VMs.
func BenchmarkThousandVMs(b *testing.B) {
	v := build(b, `
spec:
	vcenters:
	- name: big
	  datacenters:
	  - name: dc1
	    clusters: [{name: c1, hosts: [{name: h1}, {name: h2}, {name: h3}, {name: h4}]}]
	    vms: [{name: "vm", replicas: 1000, cluster: c1}]
`)
	dir, _ := v.save(b, store.Options{})
	n := 0
	b.Run("Save", func(b *testing.B) {
		for b.Loop() {
			n++
			if _, err := store.Save(b.Context(), v.Client, v.rest, fmt.Sprint(dir, n), store.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Load", func(b *testing.B) {
		for b.Loop() {
			if _, err := store.Load(dir); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("LoadAndInstall", func(b *testing.B) {
		for b.Loop() {
			saved, err := store.Load(dir)
			if err != nil {
				b.Fatal(err)
			}
			spec := saved.Spec()
			m := empty(b, &spec, saved.Content(), saved.RootFolder())
			if _, err := saved.Install(b.Context(), store.Target{Context: m.base, Dir: b.TempDir()}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
