package explain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// nodeCase is a question of a node, and its answer.
type nodeCase struct {
	name  string
	node_ Node
	ask   string // the beginning of a question
	level event.Level
	want  string // in its answer
	try   string // in what to try
}

func checkNodes(t *testing.T, list []nodeCase) {
	t.Helper()
	for _, tc := range list {
		t.Run(tc.name, func(t *testing.T) {
			e := tc.node_.Explain()
			for _, q := range e.Questions {
				if !strings.HasPrefix(q.Ask, tc.ask) {
					continue
				}
				if q.Level != tc.level || !strings.Contains(q.Answer, tc.want) || !strings.Contains(q.Try, tc.try) || tc.try == "" && q.Try != "" {
					t.Errorf("%s: %s %q, try %q; want %s %q, try %q", q.Ask, q.Level, q.Answer, q.Try, tc.level, tc.want, tc.try)
				}
				if len(q.Evidence) == 0 {
					t.Error("no evidence")
				}
				return
			}
			t.Errorf("no question %q in %+v", tc.ask, e.Questions)
		})
	}
}

// another adds a VM.
func another(name, uuid, hostname string) func(*Node) {
	return func(c *Node) {
		m := machine()
		m.Name, m.UUID, m.Hostname = name, uuid, hostname
		c.VMs = append(c.VMs, m)
	}
}

// Each question of a node, as it should be and as it should not.
func TestNode(t *testing.T) {
	untagged := machineIs(func(m *VMState) {
		for _, walk := range [][]Object{m.FromHost, m.FromPool, m.FromVM} {
			walk[len(walk)-1].Tags = []Tag{{"k8s-region", "us"}}
		}
	})
	checkNodes(t, []nodeCase{
		{"ready", node(), "Is it ready", event.Info, "posts its status", ""},
		{"ready, and off", node(powerIs("off")), "Is it ready", event.Warning, "VM us/w1 is powered off", ""},
		{"ready, and hung", node(kubeletIs("hung")), "Is it ready", event.Warning, "kubelet is hung", ""},
		{"ready, and cut off", node(func(c *Node) { c.Cut = true }), "Is it ready", event.Warning, "its way to the API server is cut", ""},
		{"ready, and its VM gone", node(gone), "Is it ready", event.Warning, "its VM us/w1 is gone from vCenter us", ""},
		{"ready, and silent", node(silent), "Is it ready", event.Warning, "Lease is not being renewed", ""},
		{"off", node(unknownSince, powerIs("off"), kubeletIs("stopped"), happened(
			aboutVM("command.power-off", "vm power-off w1", 0), aboutVM("vm.powered-off", "powered off", 1), aboutNode("node.unknown", "Ready=Unknown", 2),
		)), "Why is it not ready", event.Error, `its VM us/w1 is powered off, because of the command "vm power-off w1" (#1)`, "vm power-on w1"},
		{"suspended", node(unknownSince, powerIs("suspended"), kubeletIs("suspended")), "Why is it not ready", event.Error, "VM us/w1 is suspended", "vm power-on"},
		{"hung", node(unknownSince, kubeletIs("hung")), "Why is it not ready", event.Error, "its kubelet stands still, as in a guest that hangs", "vm reset w1"},
		{"cut off", node(unknownSince, func(c *Node) { c.Cut = true }), "Why is it not ready", event.Error, "cannot reach the API server", ""},
		{"VM gone", node(unknownSince, gone, kubeletIs("stopped")), "Why is it not ready", event.Error, "its VM us/w1 is gone from vCenter us", ""},
		{"VM gone or not", node(unknownSince, gone, kubeletIs("stopped"), func(c *Node) { c.VCenters[0].Err = errOut }), "Why is it not ready", event.Error, "cannot be looked at", ""},
		{"recreated under it", node(machineIs(func(m *VMState) { m.UUID = uuid2 })), "Is it ready", event.Info, "yes", ""},
		{"off by a fault", node(unknownSince, powerIs("off"), kubeletIs("stopped"), happened(
			event.Event{Kind: "fault.injected", Message: "f1: vm.power-off on us/w1"}, aboutVM("vm.powered-off", "powered off", 1),
		), func(c *Node) { c.Leases = []api.Lease{{ID: "f1", State: "active"}} }), "Why is it not ready", event.Error, "because of fault f1", "fault heal f1"},
		{"host crashed", node(unknownSince, kubeletIs("stopped"), machineIs(func(m *VMState) { m.HostConnection = "notResponding" })), "Why is it not ready", event.Error, "host esx-1 under its VM us/w1 is notResponding", ""},
		{"kubelet crashes", node(unknownSince, func(c *Node) { c.Kubelet = &api.Component{Name: "node/w1", State: "backing-off", Message: "panic: x"} }), "Why is it not ready", event.Error, "panic: x", "logs node/w1"},
		{"booting", node(unknownSince, kubeletIs("stopped"), machineIs(func(m *VMState) { m.Tools, m.Hostname = false, "" })), "Why is it not ready", event.Warning, "booting", ""},
		{"nothing known", node(unknownSince), "Why is it not ready", event.Error, "has not heard of it", "logs node/w1"},
		{"others', silent", node(unknownSince, others), "Why is it not ready", event.Error, "has not heard of its kubelet", "kubectl describe node w1"},
		{"others', off", node(unknownSince, others, powerIs("off")), "Why is it not ready", event.Error, "its VM us/w1 is powered off", "vm power-on w1"},
		{"others', well", node(others), "Is it ready", event.Info, "posts its status", ""},
		{"API server out", Node{Name: "w1", Node: Answer[*corev1.Node]{Err: errOut}}, "How is it", event.Error, "the API server does not answer", "status"},

		{"initialized", node(), "Is it initialized", event.Info, "yes", ""},
		{"no CCM", node(fresh, func(c *Node) { c.CCM = nil }), "Why is it not initialized", event.Error, "no cloud controller manager runs", "ccm swap builtin"},
		{"others', whose CCM is out of sight", node(fresh, others, func(c *Node) { c.CCM = nil }), "Why is it not initialized", event.Warning, "none of the sandbox's runs", "kubectl get pods"},
		{"CCM ill", node(fresh, func(c *Node) { c.CCM[0].State = "suspended" }), "Why is it not initialized", event.Error, "the CCM does not work: ccm is suspended", "logs ccm"},
		{"CCM cut off", node(fresh, func(c *Node) { c.CCMCut = true }), "Why is it not initialized", event.Error, "cannot reach the API server", ""},
		{"bad config", node(fresh, func(c *Node) { c.Config = Answer[*config.Config]{Err: errOut} }), "Why is it not initialized", event.Error, "cloud-config cannot be read", "config validate"},
		{"no such VM", node(fresh, gone, func(c *Node) { c.Bound = "" }), "Why is it not initialized", event.Error, "no vCenter has a VM of hostname w1", ""},
		{"no such VM, and a vCenter down", node(fresh, gone, func(c *Node) { c.VCenters[1].Gate = "down" }), "Why is it not initialized", event.Error, "vCenter eu may have its VM", "vcenter up eu"},
		{"vCenter down", node(fresh, func(c *Node) { c.VCenters[0].Gate = "hung" }), "Why is it not initialized", event.Error, "cannot ask vCenter us, which has its VM", "vcenter up us"},
		{"login refused", node(fresh, happened(event.Event{
			Kind: "ccm.vcenter-login-failed", Message: "wrong password", Object: event.Object{Kind: "VCenter", Name: "us"},
		})), "Why is it not initialized", event.Error, "wrong password", "logs ccm"},
		{"login refused, and mended", node(fresh, happened(
			event.Event{Kind: "ccm.vcenter-login-failed", Message: "wrong password", Object: event.Object{Kind: "VCenter", Name: "us"}},
			event.Event{Kind: "ccm.vcenter-connected", Object: event.Object{Kind: "VCenter", Name: "us"}},
		)), "Why is it not initialized", event.Warning, "has not reached it", "logs ccm"},
		{"not configured", node(fresh, func(c *Node) { c.Config.Is.VCenters = c.Config.Is.VCenters[1:] }), "Why is it not initialized", event.Error, "vCenter us, which the cloud-config does not name", ""},
		{"other datacenter", node(fresh, machineIs(func(m *VMState) { m.Datacenter = "/dceast" })), "Why is it not initialized", event.Error, "lies in datacenter /dceast", ""},
		{"two of its UUID", node(fresh, another("w2", uuid1, "w2"), machineIs(func(m *VMState) { m.Hostname = "w3" })), "Why is it not initialized", event.Error, "two VMs answer to system UUID", ""},
		{"two of its UUID, one of its name", node(fresh, another("w2", uuid1, "w2")), "Why is it not initialized", event.Warning, "has not reached it", "logs ccm"},
		{"two of its name", node(fresh, another("w2", uuid2, "w1"), machineIs(func(m *VMState) { m.UUID = "" })), "Why is it not initialized", event.Error, "two VMs answer to hostname w1", ""},
		{"other UUID", node(fresh, machineIs(func(m *VMState) { m.UUID, m.Hostname = uuid2, "" })), "Why is it not initialized", event.Error, "VM us/w1, whose kubelet it is, has UUID " + uuid2, ""},
		{"silent guest", node(fresh, machineIs(func(m *VMState) { m.Addresses = nil })), "Why is it not initialized", event.Error, "does not report what the CCM needs: w1, no address", ""},
		{"foreign and uninitialized", node(fresh, func(c *Node) { c.Node.Is.Spec.ProviderID = "aws:///x" }), "Why is it not initialized", event.Error, "another provider's", "delete node"},
		{"hidden from the CCM", node(fresh, happened(event.Event{
			Kind: "ccm.vm-not-found", Level: event.Warning, Object: event.Object{Kind: "Node", Name: "w1"},
		})), "Why is it not initialized", event.Error, "the CCM does not find VM us/w1, which vCenter us shows to an administrator", "logs ccm"},
		{"no tag", node(fresh, untagged), "Why is it not initialized", event.Error, "no tag of category k8s-zone", ""},
		{"the CCM says why", node(fresh, happened(event.Event{
			Kind: "ccm.odd", Level: event.Warning, Message: "odd", Object: event.Object{Kind: "Node", Name: "w1"},
		})), "Why is it not initialized", event.Error, "the CCM says: odd", "logs ccm"},

		{"zone", node(), "Where do its region and zone", event.Info, "region us and zone us-west, by the nearest tags above VM us/w1", ""},
		{"zone off", node(func(c *Node) { c.Config.Is.Labels = config.Labels{} }), "Where do its region and zone", event.Info, "does not name a tag category", ""},
		{"zone, tag gone", node(untagged, happened(event.Event{
			Kind: "tag.detached", Object: event.Object{Kind: "Datacenter", VCenter: "us", Name: "dcwest"},
		})), "Where do its region and zone", event.Warning, "its labels stay as they were set, but VM us/w1 has no tag of category k8s-zone", "tags.attach"},
		{"zone, never", node(fresh, untagged), "Why has it no region and zone", event.Error, "no tag of category k8s-zone on any of six objects", "tags.attach -c k8s-zone"},
		{"no category", node(fresh, untagged, func(c *Node) { c.VCenters[0].Categories.Is = []string{"k8s-region"} }), "Why has it no region and zone", event.Error, "a category that vCenter us does not have", "tags.category.ls"},
		{"zone to come", node(fresh), "Why has it no region and zone", event.Warning, "its tags say us/us-west; the CCM sets the labels when", ""},
		{"zone contradicted", node(machineIs(func(m *VMState) { m.FromHost[0].Tags = []Tag{{"k8s-zone", "us-east"}} })), "Where do its region and zone", event.Warning, "the labels say us/us-west, and the tags above VM us/w1 say us/us-east by now; the CCM sets them once", "relabel"},
		{"zone contradicted, relabeled", node(func(c *Node) { c.Relabels = true }, machineIs(func(m *VMState) { m.FromHost[0].Tags = []Tag{{"k8s-zone", "us-east"}} })), "Where do its region and zone", event.Warning, "has not reached it yet", ""},
		{"zone twice", node(machineIs(func(m *VMState) { m.FromHost[2].Tags = append(m.FromHost[2].Tags, Tag{"k8s-zone", "us-wild"}) })), "Where do its region and zone", event.Warning, "several tags of one category", ""},
		{"zone no label", node(fresh, machineIs(func(m *VMState) { m.FromHost[0].Tags = []Tag{{"k8s-zone", "us east"}} })), "Why has it no region and zone", event.Error, `"us east" cannot be the value of a label`, ""},
		{"tags unread", node(machineIs(func(m *VMState) {
			m.TagsErr, m.FromHost[2].Tags, m.FromPool[2].Tags, m.FromVM[2].Tags = errOut, nil, nil, nil
		})), "Where do its region and zone", event.Warning, "not known now", ""},
		{"zone, bad config", node(func(c *Node) { c.Config = Answer[*config.Config]{Err: errOut} }), "Where do its region and zone", event.Warning, "not known now: the cloud-config", "config validate"},
		{"zone without VM", node(gone), "Where do its region and zone", event.Info, "its labels stay", ""},

		{"instance", node(), "Which VM is it", event.Info, "VM us/w1, by its providerID " + uuid1, ""},
		{"instance swapped", node(machineIs(func(m *VMState) { m.UUID = uuid1Swapped })), "Which VM is it", event.Info, "in the other byte order", ""},
		{"foreign", node(func(c *Node) { c.Node.Is.Spec.ProviderID = "aws:///x" }), "Which VM is it", event.Error, "another provider's", "delete node"},
		{"stale", node(another("w2", uuid2, "w2"), func(c *Node) { c.Node.Is.Status.NodeInfo.SystemUUID = uuid2 }), "Which VM is it", event.Error, "another VM than the one its kubelet runs on", "delete node"},
		{"nobody", node(gone), "Which VM is it", event.Error, "no vCenter has a VM of providerID", ""},
		{"kept while Ready", node(gone), "Why is it not deleted", event.Warning, "when its node is not Ready, and it is", ""},
		{"kept, running elsewhere", node(gone, unknownSince, another("w2", uuid2, "w2"), func(c *Node) { c.Node.Is.Status.NodeInfo.SystemUUID = uuid2 }), "Why is it not deleted", event.Warning, "holds the deletion back: its kubelet runs on VM us/w2", "delete node"},
		{"kept for a vCenter", node(gone, unknownSince, func(c *Node) { c.VCenters[1].Gate = "down" }), "Why is it not deleted", event.Warning, "it cannot ask vCenter eu", "vcenter up eu"},
		{"kept without a CCM", node(gone, unknownSince, func(c *Node) { c.CCM = nil }), "Why is it not deleted", event.Error, "no cloud controller manager runs", "ccm swap builtin"},
		{"kept, and told why", node(gone, unknownSince, happened(event.Event{
			Kind: "ccm.deletion-skipped", Level: event.Warning, Message: "SKIP_NODE_DELETION", Object: event.Object{Kind: "Node", Name: "w1"},
		})), "Why is it not deleted", event.Warning, "SKIP_NODE_DELETION", "logs ccm"},
		{"about to go", node(gone, unknownSince), "Why is it not deleted", event.Warning, "at its next check", "logs ccm"},
		{"nobody known", node(gone, func(c *Node) { c.VCenters[1].Err = errOut }), "Which VM is it", event.Warning, "vCenter eu cannot be asked", ""},
		{"waits for a vCenter that may have it", node(fresh, gone, func(c *Node) { c.VCenters[1].Err = errOut }), "Why is it not initialized", event.Warning, "vCenter eu cannot be asked, and may have its VM", ""},
		{"namesake", node(another("w2", uuid2, "w1")), "Which VM is it", event.Warning, "the guest of us/w2 goes by its name, too", ""},
		{"misnamed", node(machineIs(func(m *VMState) { m.Hostname = "w9" })), "Which VM is it", event.Warning, "its guest says that it is w9", ""},

		{"addresses", node(), "Where do its addresses", event.Info, "copies them from what the guest of VM us/w1 reports", ""},
		{"addresses of a VM that is off", node(powerIs("off")), "Where do its addresses", event.Info, "stay as the guest", ""},
		{"addresses changed", node(machineIs(func(m *VMState) { m.Addresses = []string{"192.0.2.9"} })), "Where do its addresses", event.Warning, "does not report 192.0.2.1 any more, but 192.0.2.9", ""},
		{"addresses to come", node(fresh), "Where do its addresses", event.Warning, "none yet", ""},
	})
}

// A node in its desired state has no problems to report.
func TestWell(t *testing.T) {
	e := node().Explain()
	for _, q := range e.Questions {
		if q.Level != event.Info {
			t.Errorf("%s: %s %s", q.Ask, q.Level, q.Answer)
		}
		for _, v := range q.Evidence {
			if v.Verdict == wrong || v.Verdict == missing || v.Verdict == unknown {
				t.Errorf("%s: %+v", q.Ask, v)
			}
		}
	}
	if !strings.Contains(e.Summary, "is well") {
		t.Error(e.Summary)
	}
}
