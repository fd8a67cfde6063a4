package controllers_test

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/controllers"
)

func labeled(labels map[string]string) *corev1.Node {
	node := boundNode(1)
	node.Labels = maps.Clone(labels)
	return node
}

func inZone(region, zone string) map[string]string {
	return map[string]string{corev1.LabelTopologyRegion: region, corev1.LabelTopologyZone: zone}
}

func inBetaZone(region, zone string) map[string]string {
	labels := inZone(region, zone)
	labels[corev1.LabelFailureDomainBetaRegion], labels[corev1.LabelFailureDomainBetaZone] = region, zone
	return labels
}

// By default the cloud returns region "eu" and zone "eu-1".
func TestRelabel(t *testing.T) {
	for _, tc := range []struct {
		name   string
		node   *corev1.Node
		answer func(*corev1.Node, *cloudprovider.InstanceMetadata) error
		want   map[string]string
		event  string // empty if nothing must be patched
	}{
		{name: "equal", node: labeled(inZone("eu", "eu-1")), want: inZone("eu", "eu-1")},
		{name: "equal, beta labels too", node: labeled(inBetaZone("eu", "eu-1")), want: inBetaZone("eu", "eu-1")},
		{
			name: "another zone", node: labeled(inZone("eu", "eu-2")), want: inZone("eu", "eu-1"),
			event: "node-0001: Region and zone changed from eu/eu-2 to eu/eu-1",
		},
		{
			name: "another region, beta labels follow", node: labeled(inBetaZone("us", "us-1")), want: inBetaZone("eu", "eu-1"),
			event: "node-0001: Region and zone changed from us/us-1 to eu/eu-1",
		},
		{
			name: "zones were enabled later", node: labeled(nil), want: inZone("eu", "eu-1"),
			event: "node-0001: Region and zone changed from -/- to eu/eu-1",
		},
		{
			name: "only a beta label is wrong", want: inBetaZone("eu", "eu-1"),
			node:  labeled(map[string]string{corev1.LabelTopologyRegion: "eu", corev1.LabelTopologyZone: "eu-1", corev1.LabelFailureDomainBetaRegion: "eu", corev1.LabelFailureDomainBetaZone: "x"}),
			event: "node-0001: Region and zone changed from eu/eu-1 to eu/eu-1",
		},
		{
			name: "an error", node: labeled(inZone("us", "us-1")), want: inZone("us", "us-1"),
			answer: func(*corev1.Node, *cloudprovider.InstanceMetadata) error {
				return errors.New("vcenter is out of reach")
			},
		},
		{
			name: "no zone", node: labeled(inZone("us", "us-1")), want: inZone("us", "us-1"),
			answer: func(_ *corev1.Node, m *cloudprovider.InstanceMetadata) error { m.Zone = ""; return nil },
		},
		{
			name: "no region", node: labeled(inZone("us", "us-1")), want: inZone("us", "us-1"),
			answer: func(_ *corev1.Node, m *cloudprovider.InstanceMetadata) error { m.Region = ""; return nil },
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				r := start(t, settings{only: []string{controllers.RelabelController}, opts: controllers.Options{RelabelZones: true}}, tc.node)
				r.cloud.set(func(h *hooks) { h.metadata = tc.answer })
				settle(time.Second)
				r.nudges.Changed(providerID(1))
				settle(time.Second)
				if diff := cmp.Diff(tc.want, r.node(name(1)).Labels); diff != "" {
					t.Errorf("labels (-want +got):\n%s", diff)
				}
				var events []string
				if tc.event != "" {
					events = []string{tc.event}
				}
				if diff := cmp.Diff(events, r.events("ZoneRelabeled")); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if got, want := r.count("patch", "nodes"), len(events); got != want {
					t.Errorf("%d patches, want %d", got, want)
				}
			})
		})
	}
}

func TestRelabelFollows(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{statusPeriod: time.Minute, opts: controllers.Options{RelabelZones: true}},
			labeled(inBetaZone("eu", "eu-1")), newNode(2))
		settle(time.Second)
		move := func(zone string) {
			r.cloud.set(func(h *hooks) {
				h.metadata = func(_ *corev1.Node, m *cloudprovider.InstanceMetadata) error { m.Zone = zone; return nil }
			})
		}
		check := func(zone string) {
			t.Helper()
			for i := 1; i <= 2; i++ {
				if got := r.node(name(i)).Labels; got[corev1.LabelTopologyZone] != zone || got[corev1.LabelFailureDomainBetaZone] != zone {
					t.Errorf("%s: labels %v, want zone %s", name(i), got, zone)
				}
			}
		}
		check("eu-1")
		move("eu-2") // vMotion
		r.nudges.Changed(providerID(1))
		r.nudges.Changed(providerID(2))
		settle(110 * time.Millisecond)
		check("eu-2")
		move("eu-3") // a tag
		r.nudges.ChangedAll()
		settle(1100 * time.Millisecond)
		check("eu-3")
		move("eu-4") // without a nudge
		settle(time.Minute)
		check("eu-4")
	})
}

// A node that is not initialized is not updated, and without the option none is.
func TestRelabelLeavesAlone(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{only: []string{controllers.RelabelController}, opts: controllers.Options{RelabelZones: true}}, newNode(1))
		settle(time.Second)
		r.nudges.Changed(providerID(1))
		settle(time.Second)
		if n := r.cloud.counts()["metadata"]; n != 0 {
			t.Errorf("asked %d times about a node that is not initialized", n)
		}
		off := start(t, settings{}, labeled(inZone("us", "us-1")))
		off.nudges.Changed(providerID(1))
		settle(time.Minute)
		if diff := cmp.Diff(inZone("us", "us-1"), off.node(name(1)).Labels); diff != "" {
			t.Errorf("labels changed without the option (-want +got):\n%s", diff)
		}
	})
}

// The patch must not be applied to another node with the same name.
func TestRelabelPatchNamesTheNode(t *testing.T) {
	in(t, func(t *testing.T) {
		r := start(t, settings{only: []string{controllers.RelabelController}, opts: controllers.Options{RelabelZones: true}}, labeled(inZone("eu", "eu-2")))
		settle(time.Second)
		for _, a := range r.client.Actions() {
			patch, ok := a.(clienttesting.PatchAction)
			if !ok || patch.GetResource().Resource != "nodes" {
				continue
			}
			var got map[string]any
			if err := json.Unmarshal(patch.GetPatch(), &got); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"metadata": map[string]any{
				"uid": "uid-" + uuid(1), "labels": map[string]any{corev1.LabelTopologyZone: "eu-1"},
			}}
			if diff := cmp.Diff(want, got); diff != "" || patch.GetSubresource() != "" {
				t.Errorf("patch of %q (-want +got):\n%s", patch.GetSubresource(), diff)
			}
			return
		}
		t.Error("no patch")
	})
}
