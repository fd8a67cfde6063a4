package nodes_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Lookups during concurrent changes never return a state that did not exist.
func TestAtOnce(t *testing.T) {
	r := start(t, world, nil).synced()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	again := func(f func()) {
		all.Go(func() {
			for ctx.Err() == nil {
				f()
			}
		})
	}
	for range 4 {
		again(func() {
			if n, err := r.Node(ctx, uuidA1); ctx.Err() == nil && (err != nil || n.Name != "a1") {
				t.Errorf("node %v, %v", n, err)
			}
		})
		again(func() {
			s, err := r.Segment(ctx, "a1", uuidA1)
			if ctx.Err() == nil && (err != nil || s[zone] != "us-a" && s[zone] != "us-b") {
				t.Errorf("segment %v, %v", s, err)
			}
		})
		again(func() {
			places, err := r.Places(ctx, volume.Requirement{Requisite: []volume.Segment{segmentOf("us", "us-b")}})
			if ctx.Err() == nil && (err != nil || len(places) != 1 || places[0].Datastores[0].Name != "ds-b") {
				t.Errorf("places %v, %v", places, err)
			}
		})
	}
	again(func() {
		r.cluster.set(everyone()...)
		time.Sleep(time.Millisecond)
		r.cluster.set(append(everyone(), nodes.KubeNode{Name: "n1", SystemUUID: uuidN1})...)
		time.Sleep(time.Millisecond)
	})
	again(func() { defer r.Listen(func([]string) {})() })
	for _, host := range []string{"/west/host/b/esx-b-2", "/west/host/a/esx-a-1", "/west/host/b/esx-b-2"} {
		r.move("us", "/west/vm/a1", host)
	}
	cancel()
	all.Wait()
}
