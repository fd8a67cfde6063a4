package kind

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// fakeHost is a sandbox without anything.
type fakeHost struct {
	wg     sync.WaitGroup
	sim    *sim.VCenter
	failed bool
}

func (*fakeHost) Detail(string)                                                   {}
func (*fakeHost) SetCluster(cluster.Cluster)                                      {}
func (*fakeHost) SetPods(*deploy.Deployment, ground.Images, []deploy.PodEndpoint) {}
func (*fakeHost) StopPods(context.Context) error                                  { return nil }
func (*fakeHost) VCenters() []VCenter                                             { return nil }
func (*fakeHost) NSX() string                                                     { return "" }
func (*fakeHost) VolumeDir(string, string) (string, bool)                         { return "", false }
func (*fakeHost) Guest(string, types.ManagedObjectReference) node.Guest           { return nil }
func (*fakeHost) Exists(string, types.ManagedObjectReference) bool                { return false }
func (h *fakeHost) BootFailed() bool                                              { return h.failed }
func (h *fakeHost) Simulated(string) *sim.VCenter                                 { return h.sim }
func (h *fakeHost) Go(_ string, f func(context.Context))                          { h.wg.Go(func() { f(context.Background()) }) }

func (h *fakeHost) Wait(ctx context.Context, _ string) error {
	done := make(chan struct{})
	go func() { h.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// idle returns a ground of the topology single that has not booted, with its own host.
func idle(t *testing.T) (*Ground, *fakeHost) {
	t.Helper()
	top, err := scenarios.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	h := &fakeHost{}
	return New(Config{
		Name: "test", Dir: t.TempDir(), Topology: top, Speed: 10, Log: event.NewLog(0), Logger: slog.New(slog.DiscardHandler), Host: h,
	}), h
}
