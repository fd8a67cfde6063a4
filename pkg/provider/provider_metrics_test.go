package provider

import (
	"strings"
	"testing"

	k8smetrics "k8s.io/component-base/metrics"
)

// Lookups, confirmations, calls, reloads and the states of the vCenters are counted under their configured names; the probes report
// the same states.
func TestMetrics(t *testing.T) {
	registry := k8smetrics.NewKubeRegistry()
	w := follow(t, nil, func(o *Options) { o.Registry = registry })
	w.served(idNode("w1", w1UUID))
	w.served(node("u-w1", "", w1UUID))
	w.served(node("w2", "", ""))
	if exists, err := w.InstanceExists(t.Context(), idNode("x", unknown)); exists || err != nil {
		t.Fatalf("exists %v, %v", exists, err)
	}
	w.edit(func(c conf) { c.section("nodes")["internalVmNetworkName"] = "none" })
	w.expectEvent(ReasonConfigReloaded)

	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := strings.TrimPrefix(f.GetName(), "vsphere_ccm_")
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"lookups_total found provider_id": 1, "lookups_total found system_uuid": 1, "lookups_total found hostname": 1,
		"lookups_total not_found provider_id": 1, "confirmations_total gone": 1, "config_reloads_total applied": 1,
		"vcenter_connected us": 1, "inventory_synced eu": 1, "vcenter_calls_total Login ok us": 1,
	} {
		if got[name] < want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
	for _, s := range w.health() {
		if !s.Connected || !s.Synced || s.Err != nil {
			t.Errorf("%+v", s)
		}
	}
}
