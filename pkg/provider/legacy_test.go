package provider

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// The old interfaces return the same as the new one.
func TestLegacy(t *testing.T) {
	w := start(t, nil)
	ctx := t.Context()
	var cloud cloudprovider.Interface = w.Provider
	instances, ok := cloud.Instances()
	zones, zonesOK := cloud.Zones()
	if v2, v2OK := cloud.InstancesV2(); !ok || !zonesOK || !v2OK || v2 == nil {
		t.Fatal("an interface is missing; the stock controllers prefer InstancesV2 where it is there")
	}
	want, err := w.InstanceMetadata(ctx, node("w1", "", w1UUID))
	if err != nil {
		t.Fatal(err)
	}
	id := "vsphere://" + w1UUID
	same := func(what string, want, got any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", what, err, diff)
		}
	}
	addresses, err := instances.NodeAddresses(ctx, "w1")
	same("addresses by name", want.NodeAddresses, addresses, err)
	addresses, err = instances.NodeAddressesByProviderID(ctx, id)
	same("addresses by id", want.NodeAddresses, addresses, err)
	kind, err := instances.InstanceType(ctx, "w1")
	same("type by name", want.InstanceType, kind, err)
	kind, err = instances.InstanceTypeByProviderID(ctx, id)
	same("type by id", want.InstanceType, kind, err)
	uuid, err := instances.InstanceID(ctx, "w1")
	same("id", w1UUID, uuid, err)
	full, err := cloudprovider.GetInstanceProviderID(ctx, cloud, "w1")
	same("providerID", id, full, err)
	exists, err := instances.InstanceExistsByProviderID(ctx, id)
	same("exists", true, exists, err)
	off, err := instances.InstanceShutdownByProviderID(ctx, id)
	same("shut down", false, off, err)
	zone, err := zones.GetZoneByNodeName(ctx, "w1")
	same("zone by name", cloudprovider.Zone{FailureDomain: "us-west", Region: "us"}, zone, err)
	zone, err = zones.GetZoneByProviderID(ctx, id)
	same("zone by id", cloudprovider.Zone{FailureDomain: "us-west", Region: "us"}, zone, err)
	name, err := instances.CurrentNodeName(ctx, "host")
	same("current node", "host", string(name), err)
	if err := instances.AddSSHKeyToAllInstances(ctx, "u", nil); !errors.Is(err, cloudprovider.NotImplemented) {
		t.Errorf("ssh key: %v", err)
	}
	if _, err := zones.GetZone(ctx); err == nil {
		t.Error("this machine has a zone")
	}
}

// Callers delete a node on InstanceNotFound, so it is returned only for a VM that is confirmed gone.
func TestLegacyNotFound(t *testing.T) {
	w := start(t, nil)
	ctx := t.Context()
	l := legacy{w.Provider}
	ask := map[string]func(id string) error{
		"addresses": func(id string) error { _, err := l.NodeAddressesByProviderID(ctx, id); return err },
		"type":      func(id string) error { _, err := l.InstanceTypeByProviderID(ctx, id); return err },
		"shutdown":  func(id string) error { _, err := l.InstanceShutdownByProviderID(ctx, id); return err },
		"zone":      func(id string) error { _, err := l.GetZoneByProviderID(ctx, id); return err },
	}
	expect := func(what, id string, gone bool) {
		t.Helper()
		for question, f := range ask {
			// Callers compare without unwrapping.
			if err := f(id); err == nil || (err == cloudprovider.InstanceNotFound) != gone {
				t.Errorf("%s: %s: %v", what, question, err)
			}
		}
		if exists, err := l.InstanceExistsByProviderID(ctx, id); exists || (err == nil) != gone {
			t.Errorf("%s: exists %v, %v", what, exists, err)
		}
	}
	expect("gone", "vsphere://"+unknown, true)
	expect("foreign", "kind://x", false)
	expect("none", "", false)
	if _, err := l.InstanceID(ctx, "nobody"); !errors.Is(err, match.ErrNotFound) || errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("an unknown name: %v", err)
	}
	w.gate(t, "eu", gate.Down)
	eventually(t, "doubt", func() error {
		if exists, err := w.InstanceExists(ctx, node("x", "vsphere://"+unknown, "")); err == nil {
			return errors.New("no doubt yet: " + map[bool]string{true: "exists", false: "gone"}[exists])
		}
		return nil
	})
	expect("a vcenter is out", "vsphere://"+unknown, false)
}

// If the cluster's nodes are known, all data of a node with the name are used; a deleted node is forgotten.
func TestLegacyKnownNodes(t *testing.T) {
	w := start(t, nil)
	n := node("some-alias", "vsphere://"+w1UUID, "")
	n.UID = "uid-1"
	if _, err := w.k8s.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(w.k8s, 0)
	w.SetInformers(factory)
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	eventually(t, "known by an alias", func() error {
		_, err := legacy{w.Provider}.NodeAddresses(t.Context(), "some-alias")
		return err
	})
	broken := node("some-alias", "kind://x", "")
	broken.UID = n.UID
	troubled := w.nodes.events.Remembered
	eventually(t, "in trouble", func() error {
		_, _ = w.InstanceMetadata(t.Context(), broken)
		if troubled() != 1 {
			return errors.New("not remembered")
		}
		return nil
	})
	if err := w.k8s.CoreV1().Nodes().Delete(t.Context(), n.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "forgotten", func() error {
		if troubled() != 0 {
			return errors.New("remembered")
		}
		return nil
	})
}
