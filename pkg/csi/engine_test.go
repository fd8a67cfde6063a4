package csi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// A volume in each zone, in two vCenters, is created, attached, listed and deleted.
func TestLife(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	if err := w.Ready(ctx); err != nil {
		t.Error(err)
	}
	want := map[string][]string{}
	for node, in := range map[string][2]string{us1: {"us", "us-west"}, us2: {"us", "us-east"}, eu1: {"eu", "eu-all"}} {
		v, err := w.volume(ctx, "pvc-"+in[1], in[0], in[1])
		if err != nil {
			t.Fatal(err)
		}
		if len(v.GetAccessibleTopology()) != 1 || v.GetAccessibleTopology()[0].GetSegments()[zone] != in[1] {
			t.Errorf("%s: %v", in[1], v.GetAccessibleTopology())
		}
		if err := w.publish(ctx, v.GetVolumeId(), node); err != nil {
			t.Fatal(err)
		}
		want[v.GetVolumeId()] = []string{node}
	}
	list, err := w.Controller.ListVolumes(ctx, &csiapi.ListVolumesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.GetEntries() {
		if got := e.GetStatus().GetPublishedNodeIds(); !slices.Equal(got, want[e.GetVolume().GetVolumeId()]) {
			t.Errorf("%v", e)
		}
	}
	if len(list.GetEntries()) != len(want) {
		t.Errorf("%d volumes", len(list.GetEntries()))
	}
	for v, nodes := range want {
		if _, err := w.Controller.ControllerUnpublishVolume(ctx, &csiapi.ControllerUnpublishVolumeRequest{VolumeId: v, NodeId: nodes[0]}); err != nil {
			t.Error(err)
		}
		if _, err := w.Controller.DeleteVolume(ctx, &csiapi.DeleteVolumeRequest{VolumeId: v}); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"us", "eu"} {
		v, _ := w.sim.VCenter(name)
		if all := v.Volumes(); len(all) != 0 {
			t.Errorf("vcenter %s: %v", name, all)
		}
		if n := w.sessions(t, name); n == 0 {
			t.Errorf("vcenter %s: no session", name)
		}
	}
}

// A vCenter that is down does not affect the other, and is reported.
func TestOneDown(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	inEU, err := w.volume(ctx, "pvc-eu", "eu", "eu-all")
	if err != nil {
		t.Fatal(err)
	}
	eu, _ := w.sim.VCenter("eu")
	if err := eu.Gate().Set(ctx, gate.Mode{State: gate.Down}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		for _, s := range w.Status(ctx) {
			if s.Tenant == "eu" && s.Connected {
				return fmt.Errorf("still connected: %+v", s)
			}
		}
		return nil
	})
	if err := w.Ready(ctx); err != nil {
		t.Error(err)
	}
	v, err := w.volume(ctx, "pvc-us", "us", "us-west")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.publish(ctx, v.GetVolumeId(), us1); err != nil {
		t.Error(err)
	}
	got, err := w.Controller.ControllerGetVolume(ctx, &csiapi.ControllerGetVolumeRequest{VolumeId: v.GetVolumeId()})
	if err != nil || !slices.Equal(got.GetStatus().GetPublishedNodeIds(), []string{us1}) {
		t.Errorf("%v, %v", got, err)
	}
	for what, call := range map[string]func(context.Context) error{
		"create":  func(ctx context.Context) error { _, err := w.volume(ctx, "pvc-eu-2", "eu", "eu-all"); return err },
		"publish": func(ctx context.Context) error { return w.publish(ctx, inEU.GetVolumeId(), eu1) },
		"delete": func(ctx context.Context) error {
			_, err := w.Controller.DeleteVolume(ctx, &csiapi.DeleteVolumeRequest{VolumeId: inEU.GetVolumeId()})
			return err
		},
		"list": func(ctx context.Context) error {
			_, err := w.Controller.ListVolumes(ctx, &csiapi.ListVolumesRequest{})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := call(ctx)
		cancel()
		if status.Code(err) != codes.Unavailable || !strings.Contains(status.Convert(err).Message(), "eu") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := eu.Gate().Set(ctx, gate.Mode{}); err != nil {
		t.Fatal(err)
	}
	w.ready(t)
	if err := w.publish(ctx, inEU.GetVolumeId(), eu1); err != nil {
		t.Error(err)
	}
}

// A vCenter that is removed from the configuration is no longer used, and is used again when it is added, without a restart.
func TestReconfigured(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	v, err := w.volume(ctx, "pvc-eu", "eu", "eu-all")
	if err != nil {
		t.Fatal(err)
	}
	var before string
	rewrite(t, w.conf, func(text string) string {
		before = text
		var conf map[string]any
		if err := yaml.Unmarshal([]byte(text), &conf); err != nil {
			t.Fatal(err)
		}
		delete(conf["vcenter"].(map[string]any), "eu")
		out, err := yaml.Marshal(conf)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	})
	eventually(t, func() error {
		if n := len(w.Status(ctx)); n != 1 {
			return fmt.Errorf("%d vcenters", n)
		}
		if n := w.sessions(t, "eu"); n != 0 {
			return fmt.Errorf("%d sessions", n)
		}
		return nil
	})
	if _, err := w.volume(ctx, "pvc-eu-2", "eu", "eu-all"); err == nil {
		t.Error("a volume was made where nothing is configured")
	}
	if _, err := w.volume(ctx, "pvc-us", "us", "us-east"); err != nil {
		t.Error(err)
	}
	rewrite(t, w.conf, func(string) string { return before })
	eventually(t, func() error { return w.publish(ctx, v.GetVolumeId(), eu1) })
}
