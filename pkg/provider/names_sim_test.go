package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// warned returns nil if the probe and the metric of a vCenter report exactly the names; each is a part of a line.
func (w *live) warned(vcenter string, names ...string) error {
	for _, s := range w.Health() {
		if s.Tenant != vcenter {
			continue
		}
		if len(s.Warnings) != len(names) {
			return fmt.Errorf("%s: %q", vcenter, s.Warnings)
		}
		for i, name := range names {
			if !strings.Contains(s.Warnings[i], name) {
				return fmt.Errorf("%s: %q", vcenter, s.Warnings)
			}
		}
	}
	i := slices.IndexFunc(w.measures(), func(v metrics.VCenter) bool { return v.Name == vcenter })
	if v := w.measures()[i]; !v.NamesKnown || v.NamesMissing != len(names) {
		return fmt.Errorf("metric of %s: %+v", vcenter, v)
	}
	return nil
}

// expectNodeEvent waits for an event on a node whose message has the parts, and fails if it advises to delete the node.
func (w *live) expectNodeEvent(n *corev1.Node, reason string, parts ...string) {
	w.t.Helper()
	eventually(w.t, n.Name+": "+reason, func() error {
		var all []string
		for _, e := range w.allEvents() {
			if e.InvolvedObject.Kind != "Node" || e.InvolvedObject.Name != n.Name {
				continue
			}
			if strings.Contains(e.Message, "delete it if you know") {
				w.t.Errorf("misleading advice: %s", e.Message)
			}
			all = append(all, e.Reason+": "+e.Message)
			if e.Reason == reason && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(e.Message, p) }) {
				return nil
			}
		}
		return fmt.Errorf("%q", all)
	})
}

// A datacenter with a typo (findings/cpi.md A5; kubernetes/cloud-provider-vsphere#482) is reported with the near name: on the
// Secret, on the nodes that it hides, in the probe and in the metric. Correcting it needs no restart.
func TestDatacenterNameMissing(t *testing.T) {
	only := func(name string) func(conf) {
		return func(c conf) { c.section("vcenter", "us")["datacenters"] = []string{name} }
	}
	w := follow(t, only("wset"), nil)
	const text = `datacenter "wset" not found (did you mean "west"?)`
	w.expectEvent(ReasonConfiguredNameMissing, "vCenter us (", text, "no node is deleted: correct the datacenters in vsphere.conf")
	eventually(t, "probe and metric", func() error { return errors.Join(w.warned("us", text), w.warned("eu")) })
	n := uninitialized(node("w1", "", w1UUID))
	if _, err := w.InstanceMetadata(t.Context(), n); err == nil {
		t.Fatal("a VM of a datacenter that is not configured was found")
	}
	w.expectNodeEvent(n, ReasonVMNotFound, `in datacenter "/west", which is not configured`, text, "correct the datacenters in vsphere.conf")
	other := uninitialized(node("nowhere", "", unknown))
	if _, err := w.InstanceMetadata(t.Context(), other); err == nil {
		t.Fatal("a VM that there is not was found")
	}
	w.expectNodeEvent(other, ReasonVMNotFound, text)

	w.edit(only("west"))
	w.served(n)
	w.expectEvent(ReasonConfigReloaded, "in force: vcenter.us.datacenters")
	w.expectEvent(ReasonConfiguredNamesFound, "vCenter us (")
	eventually(t, "probe and metric", func() error { return w.warned("us") })
}

// A datacenter whose folder is renamed while the provider runs (findings/cpi.md A5; csi #3888, rancher #13112) is reported
// with its new name. Its nodes stay, with advice that fits.
func TestDatacenterRenamed(t *testing.T) {
	w := follow(t, func(c conf) { c.section("vcenter", "us")["datacenters"] = []string{"/west"} }, nil)
	n := idNode("w1", w1UUID)
	w.served(n)
	eventually(t, "nothing is missing", func() error { return w.warned("us") })
	w.rename("/west", "occident")
	const text = `datacenter "/west" not found (it is called "/occident" now)`
	w.expectEvent(ReasonConfiguredNameMissing, "vCenter us (", text)
	eventually(t, "probe and metric", func() error { return w.warned("us", text) })
	if _, err := w.InstanceMetadata(t.Context(), n); err == nil {
		t.Error("the VM is found")
	}
	w.expectNodeEvent(n, ReasonVMNotFound, text)
	if exists, err := w.InstanceExists(t.Context(), n); err == nil {
		t.Errorf("exists %v without an error", exists)
	}
	w.expectNodeEvent(n, ReasonDeletionHeldBack, text, "the node stays; correct the datacenters in vsphere.conf")

	w.rename("/occident", "west")
	w.expectEvent(ReasonConfiguredNamesFound, "vCenter us (")
	w.served(n)
}

func (w *live) rename(path, name string) {
	w.t.Helper()
	ctx := w.t.Context()
	dc, err := find.NewFinder(w.lab.Client("us").Client).Datacenter(ctx, path)
	if err != nil {
		w.t.Fatal(err)
	}
	task, err := dc.Rename(ctx, name)
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// Of two categories the provider names only the one that is missing, and the tags of the other (findings/newcomer.md 16).
func TestCategoryMissing(t *testing.T) {
	w := follow(t, func(c conf) { c.section("labels")["zone"] = "k8s-zones" }, nil)
	const text = `tag category "k8s-zones" does not exist (did you mean "k8s-zone"?)`
	w.expectEvent(ReasonConfiguredNameMissing, "vCenter us (", text, "correct the labels in vsphere.conf")
	eventually(t, "probe and metric", func() error { return errors.Join(w.warned("us", text), w.warned("eu", text)) })
	n := uninitialized(node("eu1", "", eu1UUID))
	_, err := w.InstanceMetadata(t.Context(), n)
	if err == nil || strings.Contains(err.Error(), `"k8s-region" or`) {
		t.Errorf("%v", err)
	}
	w.expectNodeEvent(n, ReasonZoneTagsUnknown, `no tag of category "k8s-zones" on any of`, `found "eu" (k8s-region) on`, text)
	w.edit(nil)
	w.expectEvent(ReasonConfiguredNamesFound, "vCenter us (")
	w.zone(n, "eu/eu-all")
}

// A VM network that no guest reports is reported with the near name.
func TestNetworkMissing(t *testing.T) {
	w := follow(t, func(c conf) { c.section("nodes")["internalVmNetworkName"] = "VM Netwok" }, nil)
	const text = `network "VM Netwok" is not among the networks that guests report (did you mean "VM Network"?)`
	w.expectEvent(ReasonConfiguredNameMissing, "vCenter us (", text)
	eventually(t, "probe and metric", func() error { return errors.Join(w.warned("us", text), w.warned("eu", text)) })
}
