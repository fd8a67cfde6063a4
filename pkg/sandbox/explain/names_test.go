package explain

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
)

// A node is not well while the configuration hides its VM, or the CCM warns about it: findings/cpi.md A5 and A7,
// kubernetes/cloud-provider-vsphere#482 and PR #556, csi #3888.
func TestNames(t *testing.T) {
	at := func(path, name string) func(*Node) {
		return func(c *Node) {
			c.VCenters[0].Datacenters = []absent.Place{{Ref: "Datacenter:datacenter-3", Name: name, Path: path}}
			m := &c.VMs[0]
			m.Datacenter = path
			m.FromVM = []Object{{Type: "Datacenter", Name: name, Ref: "datacenter-3"}}
		}
	}
	configured := func(names ...string) func(*Node) {
		return func(c *Node) { c.Config.Is.VCenters[0].Datacenters = names }
	}
	const missing = `vCenter us: datacenter "/dcwest" not found (did you mean "/america/dcwest"?)`
	checkNodes(t, []nodeCase{
		{"renamed, initialized", node(at("/america/dcwest", "dcwest")), "Is it initialized", event.Warning, missing, ""},
		{"renamed, new", node(fresh, at("/america/dcwest", "dcwest")), "Why is it not initialized", event.Error, missing, ""},
		{"VM gone, renamed", node(unknownSince, gone, misspelled), "Why is it not deleted", event.Warning, `holds the deletion back`, ""},
		{"by reference", node(at("/america/dcwest", "dcwest"), configured("Datacenter:datacenter-3")), "Is it initialized", event.Info, "yes", ""},
		{"virtual ip, used", node(happened(event.Event{
			Kind: "ccm.virtual-address", Level: event.Warning, Object: event.Object{Kind: "Node", Name: "w1"}, Message: "10.20.0.250/32 is beside",
		})), "Where do its addresses", event.Warning, "10.20.0.250/32 is beside", ""},
		{"virtual ip, not used", node(happened(event.Event{
			Kind: "ccm.virtual-address", Object: event.Object{Kind: "Node", Name: "w1"}, Message: "10.20.0.250/32 is beside",
		})), "Where do its addresses", event.Info, "the CCM copies them", ""},
	})
	for name, c := range map[string]Node{
		"renamed": node(at("/america/dcwest", "dcwest")),
		"warned": node(happened(event.Event{
			Kind: "ccm.vm-not-found", Level: event.Warning, Object: event.Object{Kind: "Node", Name: "w1"}, Message: "vm not found",
		})),
	} {
		if s := c.Explain().Summary; strings.Contains(s, "is well") {
			t.Errorf("%s: %s", name, s)
		}
	}
}

// misspelled has another datacenter than the configured one, and no VM.
func misspelled(c *Node) {
	c.VCenters[0].Datacenters = []absent.Place{{Name: "dcwset", Path: "/dcwset"}}
}

// A category that a vCenter does not have is separate evidence.
func TestNamesCategory(t *testing.T) {
	c := node(fresh, func(c *Node) { c.Config.Is.Labels.Zone = "k8s-zones" })
	for _, q := range c.Explain().Questions {
		for _, e := range q.Evidence {
			if strings.Contains(e.Found, `tag category "k8s-zones" does not exist (did you mean "k8s-zone"?)`) {
				return
			}
		}
	}
	t.Error("the category is not named")
}
