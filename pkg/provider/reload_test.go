package provider

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// Labels that are configured later are used from then on (kubernetes/cloud-provider-vsphere#435), with the existing sessions.
func TestReloadLabels(t *testing.T) {
	w := follow(t, func(c conf) { delete(c, "labels") }, nil)
	n := idNode("w1", w1UUID)
	w.zone(n, "/")
	before, nudged := [2]string{w.one("us"), w.one("eu")}, w.nudges.everything.Load()
	w.edit(nil)
	w.zone(n, "us/us-west")
	e := w.expectEvent(ReasonConfigReloaded, "in force: labels.region, labels.zone")
	if e.InvolvedObject.Kind != "Pod" || e.InvolvedObject.Name != "ccm-1" || e.Type != corev1.EventTypeNormal {
		t.Errorf("%s event about %+v", e.Type, e.InvolvedObject)
	}
	if after := [2]string{w.one("us"), w.one("eu")}; after != before {
		t.Errorf("sessions %v, then %v", before, after)
	}
	eventually(t, "nudge", func() error {
		if w.nudges.everything.Load() == nudged {
			return fmt.Errorf("none since the change")
		}
		return nil
	})
	w.edit(func(c conf) { c.section("nodes")["internalNetworkSubnetCidr"] = "2001:db8::/32" })
	w.expectEvent(ReasonConfigReloaded, "in force: nodes.internalNetworkSubnetCidr")
	if after := w.one("us"); after != before[0] {
		t.Errorf("another session")
	}
}

// A vCenter that is added is used without a restart; the other keeps its session.
func TestReloadAddsVCenter(t *testing.T) {
	w := follow(t, func(c conf) { delete(c.section("vcenter"), "eu") }, nil)
	if n := w.sessions("eu"); len(n) != 0 {
		t.Fatalf("%d sessions before", len(n))
	}
	before := w.one("us")
	w.edit(nil)
	if zone := w.served(idNode("eu1", eu1UUID)); zone != "eu/eu-all" {
		t.Errorf("zone %s", zone)
	}
	w.expectEvent(ReasonConfigReloaded, "in force: vcenter.eu")
	if w.one("us") != before {
		t.Error("another session at us")
	}
	w.one("eu")
	w.end()
	if n := len(w.sessions("us")) + len(w.sessions("eu")); n != 0 {
		t.Errorf("%d sessions after the end", n)
	}
}

// A vCenter that is added and unreachable takes effect eventually. Until then no node is reported gone, and the nodes of the other
// vCenter work.
func TestReloadAddsDeadVCenter(t *testing.T) {
	w := follow(t, func(c conf) { delete(c.section("vcenter"), "eu") }, nil)
	v, _ := w.lab.VCenter("eu")
	hold(t, v, down())
	w.edit(nil)
	w.expectEvent(ReasonConfigReloaded, "in force: vcenter.eu")
	w.served(idNode("w1", w1UUID))
	for _, uuid := range []string{eu1UUID, unknown} {
		if exists, err := w.InstanceExists(t.Context(), idNode("x", uuid)); exists || err == nil {
			t.Errorf("exists %v, %v; want an error", exists, err)
		}
	}
}

// A datacenter that is added is read at once, on the same session.
func TestReloadAddsDatacenter(t *testing.T) {
	only := func(names ...string) func(conf) {
		return func(c conf) {
			delete(c, "labels")
			c.section("vcenter", "us")["datacenters"] = names
		}
	}
	w := follow(t, only("west"), nil)
	before, n := w.one("us"), node("u1", "", "")
	if _, err := w.InstanceMetadata(t.Context(), n); err == nil {
		t.Error("a VM of a datacenter that is not looked at was found")
	}
	w.edit(only("west", "untagged"))
	w.served(n)
	w.expectEvent(ReasonConfigReloaded, "in force: vcenter.us.datacenters")
	if w.one("us") != before {
		t.Error("another session")
	}
	w.edit(func(c conf) { delete(c, "labels") })
	w.expectEvent(ReasonConfigReloaded, "in force: vcenter.us.datacenters")
}

// A change that would report nodes gone waits for a restart, with an event; the rest of the change is in force.
func TestReloadRefusesRemoval(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before func(conf)
		after  func(conf)
		node   *corev1.Node
		later  string
	}{
		{"vcenter", nil, func(c conf) { delete(c.section("vcenter"), "eu") }, idNode("eu1", eu1UUID), "vcenter.eu"},
		{
			"server", nil, func(c conf) { c.section("vcenter", "eu")["server"] = "127.0.0.9" }, idNode("eu1", eu1UUID),
			"vcenter.eu.server",
		},
		{
			"port", nil, func(c conf) { c.section("vcenter", "eu")["port"] = 4 }, idNode("eu1", eu1UUID), "vcenter.eu.port",
		},
		{
			"datacenter", func(c conf) { c.section("vcenter", "us")["datacenters"] = []string{"west", "untagged"} },
			func(c conf) { c.section("vcenter", "us")["datacenters"] = []string{"untagged"} }, idNode("w1", w1UUID),
			"vcenter.us.datacenters",
		},
		{
			"some of all datacenters", nil,
			func(c conf) { c.section("vcenter", "us")["datacenters"] = []string{"untagged"} }, idNode("w1", w1UUID),
			"vcenter.us.datacenters",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.before == nil {
				tc.before = func(conf) {}
			}
			w := follow(t, tc.before, nil)
			w.served(tc.node)
			before := [2]string{w.one("us"), w.one("eu")}
			w.edit(func(c conf) { tc.after(c); c.section("nodes")["internalVmNetworkName"] = "none" })
			e := w.expectEvent(ReasonConfigNeedsRestart, "takes effect at the next start", ": "+tc.later)
			if e.Type != corev1.EventTypeWarning {
				t.Errorf("type %s", e.Type)
			}
			w.expectEvent(ReasonConfigReloaded, "in force: nodes.internalVmNetworkName")
			if exists, err := w.InstanceExists(t.Context(), tc.node); !exists || err != nil {
				t.Errorf("exists %v, %v", exists, err)
			}
			if after := [2]string{w.one("us"), w.one("eu")}; after != before {
				t.Errorf("sessions %v, then %v", before, after)
			}
			w.edit(func(c conf) { tc.before(c); c.section("nodes")["internalVmNetworkName"] = "none" })
			w.expectEvent(ReasonConfigReloaded, "in force unchanged")
		})
	}
}

// A broken file changes nothing and is reported with its line; the next valid one counts.
func TestReloadBrokenFile(t *testing.T) {
	w := follow(t, nil, nil)
	good := w.conf(nil)
	w.write(strings.Replace(good, "labels:\n", "labels:\n  zoone: secret-value\n", 1))
	e := w.expectEvent(ReasonConfigRejected, "vsphere.conf:6: labels.zoone: ", "the last valid configuration stays in force")
	if strings.Contains(e.Message, "secret-value") {
		t.Errorf("message %q", e.Message)
	}
	w.zone(idNode("w1", w1UUID), "us/us-west")
	w.write("")
	w.expectEvent(ReasonConfigRejected, "vsphere.conf: ")
	w.stays(idNode("eu1", eu1UUID))
	w.write(strings.Replace(good, "k8s-zone", "k8s-region", 1))
	w.zone(idNode("w1", w1UUID), "us/us")
	w.expectEvent(ReasonConfigReloaded, "in force: labels.zone")
}

// Calls during a change of the configuration use either the old or the new one, never less.
func TestReloadUnderLoad(t *testing.T) {
	w := follow(t, nil, nil)
	stop := make(chan struct{})
	var callers sync.WaitGroup
	halt := sync.OnceFunc(func() {
		close(stop)
		callers.Wait()
	})
	defer halt()
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, n := range []*corev1.Node{idNode("w1", w1UUID), idNode("eu1", eu1UUID)} {
					if _, err := w.InstanceMetadata(t.Context(), n); err != nil {
						t.Errorf("metadata: %v", err)
					}
					if exists, err := w.InstanceExists(t.Context(), n); !exists || err != nil {
						t.Errorf("exists %v, %v", exists, err)
					}
				}
			}
		})
	}
	us, eu := w.one("us"), w.one("eu")
	for i := range 10 {
		current := w.now()
		w.edit(func(c conf) {
			c.section("nodes")["excludeInternalNetworkSubnetCidr"] = fmt.Sprintf("203.0.%d.0/24", i)
			if i%2 == 0 {
				delete(c, "labels")
			}
		})
		eventually(t, "reload", func() error {
			if w.now() == current {
				return fmt.Errorf("number %d", i)
			}
			return nil
		})
	}
	halt()
	if w.one("us") != us || w.one("eu") != eu {
		t.Error("other sessions")
	}
}

// A replica that has waited for the lead starts with the current file, with any content.
func TestRefresh(t *testing.T) {
	w := follow(t, nil, nil)
	w.end()
	cfg, err := config.LoadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(cfg, w.opts)
	if err != nil {
		t.Fatal(err)
	}
	w.edit(func(c conf) { delete(c.section("vcenter"), "eu") })
	p.start(t.Context(), w.k8s)
	defer p.Wait()
	defer p.Close()
	if n := len(p.now().cfg.VCenters); n != 1 {
		t.Errorf("%d vCenters", n)
	}
	if n := w.sessions("eu"); len(n) != 0 {
		t.Errorf("%d sessions at a vCenter that is no longer named", len(n))
	}
}
