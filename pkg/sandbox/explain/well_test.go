package explain

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// ill returns the evidence that something is wrong or missing.
func ill(e api.Explanation) (all []string) {
	for _, q := range e.Questions {
		for _, v := range q.Evidence {
			if v.Verdict == wrong || v.Verdict == missing {
				all = append(all, fmt.Sprintf("%s %s: %s", q.Ask, v.What, v.Found))
			}
		}
	}
	return all
}

// afflictions are changes to the case of a node.
var afflictions = map[string]func(*Node){
	"off":             powerIs("off"),
	"suspended":       powerIs("suspended"),
	"disconnected":    machineIs(func(m *VMState) { m.Connection = "disconnected" }),
	"host out":        machineIs(func(m *VMState) { m.HostConnection = "notResponding" }),
	"maintenance":     machineIs(func(m *VMState) { m.Maintenance = true }),
	"toolless":        machineIs(func(m *VMState) { m.Tools = false }),
	"nameless":        machineIs(func(m *VMState) { m.Hostname = "" }),
	"misnamed":        machineIs(func(m *VMState) { m.Hostname = "w9" }),
	"no address":      machineIs(func(m *VMState) { m.Addresses = nil }),
	"untagged":        machineIs(func(m *VMState) { m.FromHost, m.FromPool, m.FromVM = nil, nil, nil }),
	"other uuid":      machineIs(func(m *VMState) { m.UUID = uuid2 }),
	"gone":            gone,
	"kubelet stopped": kubeletIs("stopped"),
	"no kubelet":      func(c *Node) { c.Kubelet = nil },
	"silent":          silent,
	"unknown":         unknownSince,
	"no Lease":        func(c *Node) { c.Heartbeat.Is = nil },
	"no condition":    func(c *Node) { c.Node.Is.Status.Conditions = nil },
	"fresh":           fresh,
	"tainted":         taintedWith("node.kubernetes.io/unschedulable"),
	"foreign taint":   taintedWith("example.net/mine"),
	"no labels":       func(c *Node) { c.Node.Is.Labels = nil },
	"other labels":    func(c *Node) { c.Node.Is.Labels[corev1.LabelTopologyZone] = "x" },
	"no addresses":    func(c *Node) { c.Node.Is.Status.Addresses = nil },
	"no providerID":   func(c *Node) { c.Node.Is.Spec.ProviderID = "" },
	"others'":         others,
	"cut":             func(c *Node) { c.Cut = true },
	"no CCM":          func(c *Node) { c.CCM = nil },
	"CCM ill":         func(c *Node) { c.CCM[0].State, c.CCM[0].Health = "backing-off", "" },
	"CCM cut":         func(c *Node) { c.CCMCut = true },
	"no config":       func(c *Node) { c.Config = Answer[*config.Config]{Err: errOut} },
	"no vCenter":      func(c *Node) { c.Config.Is.VCenters = nil },
	"no zones":        func(c *Node) { c.Config.Is.Labels = config.Labels{} },
	"no category":     func(c *Node) { c.VCenters[0].Categories = Answer[[]string]{Is: []string{"a"}} },
	"vCenter out":     func(c *Node) { c.VCenters[0].Gate = "down" },
	"other datacenter": func(c *Node) {
		c.Config.Is.VCenters[0].Datacenters = []string{"/dcother"}
	},
	"another's uuid": another("w2", uuid1, "w2"),
	"another's name": another("w2", uuid2, "w1"),
	"warned": happened(event.Event{
		Kind: "ccm.address", Level: event.Warning, Object: event.Object{Kind: "Node", Name: "w1"}, Message: "an address",
	}),
}

// A node, a VM and a volume are not called well beside evidence that something is wrong. (kubernetes/cloud-provider-vsphere#482)
func TestNothingIsWellBesideWhatIsNot(t *testing.T) {
	for one, change := range afflictions {
		for other, too := range afflictions {
			t.Run(one+", "+other, func(t *testing.T) {
				for name, change := range map[string]func(*Node){one: change, one + ", " + other: func(c *Node) { change(c); too(c) }} {
					c, ok := changed(change)
					if !ok {
						continue
					}
					for _, e := range []api.Explanation{c.Explain(), vm(c).Explain()} {
						if found := ill(e); len(found) > 0 && strings.HasPrefix(e.Summary, e.Subject.Kind+" w1 is well") {
							t.Errorf("%s: %s\n%s", name, e.Summary, strings.Join(found, "\n"))
						}
						if levels := e.Questions[0].Level; levels == event.Info && len(ill(e)) > 0 {
							t.Errorf("%s: no question is marked: %s\n%s", name, e.Summary, strings.Join(ill(e), "\n"))
						}
					}
				}
			})
		}
	}
}

// What does not exist is not well.
func TestNoNodeIsNotWell(t *testing.T) {
	c := node(noNode, func(c *Node) { c.Bound, c.VMs[0].Role = "", "" })
	if s := c.Explain().Summary; s != "node w1: VM us/w1 is not to be a node: the topology gives it no role" {
		t.Error(s)
	}
}

// changed returns the case with a change; ok is false if the change does not fit another one that was made before.
func changed(change func(*Node)) (c Node, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return node(change), true
}
