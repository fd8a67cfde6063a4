package explain

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// putting is what is known of a taint: who puts it there, what for, and what takes it away.
type putting struct {
	by, means, ends string
	level           event.Level
}

// puttings are the taints that Kubernetes and cloud providers give nodes.
var puttings = map[string]putting{
	cloudproviderapi.TaintExternalCloudProvider: {"the kubelet", "it registers with --cloud-provider=external, and no cloud controller manager has taken the node in yet", "the CCM takes it away when it has found the VM, addresses and zone", event.Error},
	cloudproviderapi.TaintNodeShutdown:          {"the CCM's node lifecycle controller", "the VM is off or suspended, as its vCenter says", "the same controller takes it away when the node is Ready again", event.Warning},
	corev1.TaintNodeNotReady:                    {"the node lifecycle controller of kube-controller-manager", "the kubelet says Ready=False, or has said nothing yet", "the same controller takes it away when the node is Ready", event.Warning},
	corev1.TaintNodeUnreachable:                 {"the node lifecycle controller of kube-controller-manager", "the node has not been heard of for the grace period: Ready=Unknown", "the same controller takes it away when the node is Ready again", event.Warning},
	corev1.TaintNodeUnschedulable:               {"the node lifecycle controller of kube-controller-manager", "the node is cordoned", "kubectl uncordon", event.Warning},
	corev1.TaintNodeOutOfService:                {"a person", "the node is dead for good: its pods are removed and its volumes detached at once", "a person takes it away: nothing else does", event.Warning},
	corev1.TaintNodeMemoryPressure:              {"the node lifecycle controller of kube-controller-manager", "the kubelet says that memory is short", "the same controller, when the condition ends", event.Warning},
	corev1.TaintNodeDiskPressure:                {"the node lifecycle controller of kube-controller-manager", "the kubelet says that its disk is full", "the same controller, when the condition ends", event.Warning},
	corev1.TaintNodePIDPressure:                 {"the node lifecycle controller of kube-controller-manager", "the kubelet says that processes are many", "the same controller, when the condition ends", event.Warning},
	corev1.TaintNodeNetworkUnavailable:          {"the node lifecycle controller of kube-controller-manager", "the node's network is not set up", "the same controller, when the condition ends", event.Warning},
	feed.LightKey:                               {"the sandbox", "it is a light node among nodes that run pods: what lands there runs nowhere", "nothing has to: it belongs there", event.Info},
	"node-role.kubernetes.io/control-plane":     {"the kubelet", "it registers as a control-plane node, and pods have to tolerate that", "nothing has to: it belongs there", event.Info},
}

// taintKeys are the keys of its taints, each once: one may be there with two effects.
func (c Node) taintKeys() (keys []string) {
	for _, t := range c.Node.Is.Spec.Taints {
		if !slices.Contains(keys, t.Key) {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

// taint says who put a taint on the node, for which event, and what takes it away.
func (c Node) taint(key string) (q question) {
	q.Ask = "Why does it have the taint " + key + "?"
	for _, t := range c.Node.Is.Spec.Taints {
		if t.Key != key {
			continue
		}
		text := "on the Node"
		if t.TimeAdded != nil {
			text += " since " + c.clock(t.TimeAdded.Time)
		}
		q.saw(apiServer, neither, "taint "+t.ToString(), "%s", text)
	}
	because := ""
	e := c.newest(func(e event.Event) bool {
		return ofNode(c.Name)(e) && e.Kind == "node.tainted" && strings.HasSuffix(e.Message, " "+key)
	})
	if because = c.who(e); e.Seq == 0 { // it registered with it
		e = c.newest(func(e event.Event) bool {
			return ofNode(c.Name)(e) && e.Kind == "node.registered" && strings.Contains(e.Message, key)
		})
	}
	q.because(c.Around, e)
	if l, ok := c.faultTaint(key); ok {
		q.answer(event.Warning, "vsphere-sandbox fault heal "+l.ID, "fault %s put it there: %s", l.ID, l.Fault)
	}
	p, ok := puttings[key]
	if !ok {
		q.answer(event.Warning, "kubectl taint nodes "+c.Name+" "+key+"-", "neither Kubernetes nor the cloud provider sets it: another client did%s", because)
		return q
	}
	try := c.way(key)
	if key == cloudproviderapi.TaintNodeShutdown {
		if m := c.vm(); m != nil {
			c.sawVM(&q, *m)
			if m.Power == "on" {
				q.answer(event.Warning, "", "%s put it there while the VM was off. VM %s is on by now; %s%s", p.by, m.id(), p.ends, because)
			}
		}
	}
	q.answer(p.level, try, "%s put it there: %s%s. %s", p.by, p.means, because, capital(p.ends))
	return q
}

// way is what a person can do about a taint.
func (c Node) way(key string) string {
	switch key {
	case corev1.TaintNodeOutOfService:
		return "vsphere-sandbox taint out-of-service " + c.Name + " --remove"
	case corev1.TaintNodeUnschedulable:
		return "kubectl uncordon " + c.Name
	case cloudproviderapi.TaintNodeShutdown:
		if m := c.vm(); m != nil && m.Power != "on" {
			return "vsphere-sandbox vm power-on " + m.Name
		}
	}
	return ""
}

// faultTaint finds the fault that put a taint there, if one did.
func (c Node) faultTaint(key string) (api.Lease, bool) {
	for _, l := range c.active(c.touches) {
		if l.Fault == "node.tainted" && !isKnown(key) || l.Fault == "node.uninitialized" && key == cloudproviderapi.TaintExternalCloudProvider {
			return l, true
		}
	}
	return api.Lease{}, false
}

func isKnown(key string) bool { _, ok := puttings[key]; return ok }

// capital begins a sentence.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
