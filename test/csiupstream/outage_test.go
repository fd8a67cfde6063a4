package csiupstream

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// TestOutage: the driver recovers after its vCenter was down and after its sessions were terminated, and what was requested
// repeatedly exists once.
func TestOutage(t *testing.T) {
	w := start(t, oneVCenter)
	m := w.Machine("worker-a-1")
	first := w.create(volumeRequest("pvc-1", gib, within("us", "zone-a")))
	front := w.VCenters()[0].Gate()

	if err := front.Set(t.Context(), gate.Mode{State: gate.Down}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := w.csi.CreateVolume(ctx, volumeRequest("pvc-2", gib, within("us", "zone-a"))); err == nil {
		t.Error("a volume was made without a vCenter")
	}
	if err := front.Set(t.Context(), gate.Mode{}); err != nil {
		t.Fatal(err)
	}
	w.recovers("pvc-2")

	// An administrator terminates the driver's sessions.
	manager := session.NewManager(w.clients["vc"])
	var sessions mo.SessionManager
	pc := property.DefaultCollector(w.clients["vc"])
	if err := pc.RetrieveOne(t.Context(), manager.Reference(), []string{"sessionList"}, &sessions); err != nil {
		t.Fatal(err)
	}
	var ended []string
	for _, s := range sessions.SessionList {
		if strings.HasPrefix(s.UserAgent, "k8s-csi") {
			ended = append(ended, s.Key)
		}
	}
	if len(ended) == 0 {
		t.Fatalf("the driver has no session: %+v", sessions.SessionList)
	}
	if err := manager.TerminateSession(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	w.recovers("pvc-3")

	uuid := w.mustAttach(first.VolumeId, m)
	if got := w.volume("vc", first.VolumeId); got == nil || uuid == "" {
		t.Errorf("volume %v, disk %q", got, uuid)
	}
	w.detach(first.VolumeId, m)
}

// recovers asks for a volume until it is there, as the provisioner does, and counts those of its name.
func (w *world) recovers(name string) {
	w.t.Helper()
	since := time.Now()
	w.await("volume "+name+" is made", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		_, err := w.csi.CreateVolume(ctx, volumeRequest(name, gib, within("us", "zone-a")))
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		return err
	})
	w.t.Logf("volume %s after %s", name, time.Since(since).Round(100*time.Millisecond))
	client, err := cns.NewClient(w.t.Context(), w.clients["vc"])
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := client.QueryVolume(w.t.Context(), &cnstypes.CnsQueryFilter{Names: []string{name}})
	if err != nil || len(res.Volumes) != 1 {
		w.t.Errorf("%d volumes of the name %s, %v", len(res.Volumes), name, err)
	}
}
