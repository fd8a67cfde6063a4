// Package causality finds the event of a sandbox's log that caused a change: of a Node, of its kubelet's process, of what
// the cloud provider reports, of a claim or a pod. Where no event is known to be the cause it returns 0: a wrong cause is
// worse than none.
//
// Floor 3.
package causality

import (
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Finder finds causes. Its methods may be called from any goroutine.
type Finder struct {
	Log *event.Log
	// Grace is how long the cluster waits for a node's heartbeat before it marks the node as lost.
	Grace time.Duration
	// Topology returns what was applied last.
	Topology func() *topology.Topology
	// VM returns the VM behind a node, "" without one.
	VM func(node string) (vcenter, vm string)
	// Lease returns a lease of the fault engine.
	Lease func(id string) (fault.Lease, bool)
}

const (
	// AnyAge is larger than the age of any event.
	AnyAge = time.Duration(math.MaxInt64)
	// JustNow is the longest time between the event of a fault and its effects.
	JustNow = 2 * time.Second
)

// Newest returns the Seq of the newest event of one of the kinds that match accepts, of those that the cluster may just
// have noticed; 0 for none.
func (f *Finder) Newest(kinds []string, match func(event.Event) bool) uint64 {
	return f.Within(2*f.Grace+10*time.Second, kinds, match)
}

// Within is [Finder.Newest] of events that are not older than age.
func (f *Finder) Within(age time.Duration, kinds []string, match func(event.Event) bool) uint64 {
	const far = 4096 // events
	if len(kinds) == 0 {
		return 0
	}
	last := f.Log.Last()
	events, _ := f.Log.Read(last-min(last, far), 0)
	for _, e := range slices.Backward(events) {
		if time.Since(e.Time) > age {
			break
		}
		if matchesAny(e, kinds) && f.anyTarget(e, match) {
			return e.Seq
		}
	}
	return 0
}

// causes has, for a kind of event of a node, the kinds of events of the node, its kubelet or its VM that cause it. An event that is
// not here, or follows none of them, has no known cause: a wrong cause would be worse than none.
var causes = map[string][]string{
	"node.registered":     {"child.started"},
	"node.provider-id":    {"node.registered", "tag.attached", "fault.injected/node.foreign-provider-id", "fault.healed/node.foreign-provider-id"},
	"node.labelled":       {"node.registered", "tag.attached", "tag.detached"},
	"node.csi-registered": {"child.started", "node.registered"},
	"node.ready":          {"child.started", "guest.up", "node.resumed", "api.mended"},
	"node.not-ready":      {"child.stopped", "child.exited", "node.hung", "vm.suspended", "api.cut", "fault.injected/vm.", "fault.injected/node."},
	"node.unknown":        {"child.stopped", "child.exited", "node.hung", "vm.suspended", "api.cut", "fault.injected/vm.", "fault.injected/node."},
	"node.tainted":        {"node.unknown", "node.not-ready", "fault.injected/node.tainted", "fault.injected/node.uninitialized"},
	"node.untainted":      {"node.ready", "fault.healed/node.tainted"},
	"node.deleted":        {"vm.destroyed", "vm.unregistered", "node.removed", "fault.injected/node.object-deleted"},

	"ccm.guest-not-reporting": {"guest.down", "vm.powered-off", "vm.powered-on", "vm.reset", "fault.injected/guest.", "fault.injected/identity."},
	"ccm.vm-gone":             {"vm.destroyed", "vm.unregistered"},
	"ccm.vm-not-found":        {"vm.destroyed", "vm.unregistered"},

	"ccm.node-well/deletion-held-back":  {"ccm.vcenter-connected"},
	"ccm.node-well/vcenter-unavailable": {"ccm.vcenter-connected"},
	"ccm.node-well/zone-tags-unknown":   {"ccm.vcenter-connected", "tag.attached"},
	"ccm.node-well/zone-tag-missing":    {"tag.attached"},
	"ccm.node-well/guest-not-reporting": {"guest.up", "fault.healed/guest.", "fault.healed/identity."},
}

// lasting are the effects that may come long after their cause: a Node is kept as long as there is doubt.
var lasting = []string{"node.deleted", "ccm.vm-gone"}

// OfNode returns the newest event that may have caused a change of a node, 0 for none. An event that is older than the time in which
// the cluster notices a change is no cause.
func (f *Finder) OfNode(node, kind string) uint64 {
	vcenter, vm := f.VM(node)
	about := func(e event.Event) bool {
		switch {
		case e.Object.Kind == "Node":
			return e.Object.Name == node
		case e.Kind == "tag.attached": // to something above it, which the log does not know
			return e.Object.VCenter == vcenter && f.ofZone(e)
		case e.Kind == "ccm.vcenter-connected": // a VM that is gone from its vCenter might have been at any other
			return true
		case e.Object.Kind == "VM":
			return e.Object.VCenter == vcenter && e.Object.Name == vm
		}
		return false
	}
	if !slices.Contains(lasting, kind) {
		return f.Newest(causes[kind], about)
	}
	seq := f.Within(AnyAge, causes[kind], about)
	if f.Within(AnyAge, []string{"node.registered"}, about) > seq {
		return 0 // another VM has the name by now
	}
	return seq
}

// ofZone reports whether a tag of the event says where something is: "tag k8s-zone/us-west attached by …".
func (f *Finder) ofZone(e event.Event) bool {
	c := f.Topology().Spec.Categories
	return strings.HasPrefix(e.Message, "tag "+c.Region+"/") || strings.HasPrefix(e.Message, "tag "+c.Zone+"/")
}

// OfTaint finds what put a taint on a node. That it is out of service is for people to say: it is a command, or nothing
// that the log knows.
func (f *Finder) OfTaint(node, key string) uint64 {
	if key != corev1.TaintNodeOutOfService {
		return f.OfNode(node, "node.tainted")
	}
	return f.outOfServiceCommand(node)
}

// outOfServiceCommand is the newest command that put a node out of service, or in service again.
func (f *Finder) outOfServiceCommand(node string) uint64 {
	return f.Newest([]string{"command.out-of-service"}, func(e event.Event) bool { return e.Object.Name == node })
}

// OfTaintRemoved finds what took a taint from a node: that it is initialized, or that it is back.
func (f *Finder) OfTaintRemoved(node, key string) uint64 {
	switch key {
	case corev1.TaintNodeOutOfService:
		return f.outOfServiceCommand(node)
	case cloudproviderapi.TaintExternalCloudProvider:
	default:
		return f.OfNode(node, "node.untainted")
	}
	return f.Newest([]string{"node.provider-id"}, func(e event.Event) bool { return e.Object.Name == node })
}

// OfProcess finds what made a kubelet start or stop: its VM.
func (f *Finder) OfProcess(state child.State, about func(event.Event) bool) uint64 {
	var kinds []string
	switch state {
	case child.Started:
		kinds = []string{"guest.up"}
	case child.Stopped:
		kinds = []string{"vm.powered-off", "vm.reset", "vm.destroyed", "vm.died"}
	}
	return f.Newest(kinds, func(e event.Event) bool { return e.Plane == event.PlaneVSphere && about(e) })
}

// OfChange finds the fault that has just changed a Secret or a ConfigMap.
func (f *Finder) OfChange(kind, name string) uint64 {
	return f.Within(JustNow, []string{"object.changed"}, func(e event.Event) bool { return e.Object.Kind == kind && e.Object.Name == name })
}

// OfEviction is the event of the taint for which a pod is taken from its node, 0 when it ends for another reason: the taint
// eviction controller says so in the pod (kubernetes, pkg/controller/tainteviction).
func (f *Finder) OfEviction(p *corev1.Pod) uint64 {
	if !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "DeletionByTaintManager"
	}) {
		return 0
	}
	return f.Within(AnyAge, []string{"node.tainted"}, func(e event.Event) bool {
		return e.Object.Name == p.Spec.NodeName && evicts(e.Message[strings.LastIndexByte(e.Message, ' ')+1:])
	})
}

// evicts reports whether a taint takes pods from a node: of those that Kubernetes and the CCM put there, most only keep pods away.
func evicts(key string) bool {
	switch key {
	case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeOutOfService:
		return true
	}
	return !strings.HasPrefix(key, "node.kubernetes.io/") && !strings.HasPrefix(key, "node.cloudprovider.kubernetes.io/")
}

// OutOfService is the event of the taint for which volumes are taken from a node at once, 0 when it has none.
func (f *Finder) OutOfService(node string) uint64 {
	return f.Newest([]string{"node.tainted"}, func(e event.Event) bool {
		return e.Object.Name == node && strings.Contains(e.Message, corev1.TaintNodeOutOfService)
	})
}

// asked are the events by which an object came to want what it complains of not having, for each kind of object.
var asked = map[string][]string{
	"Pod":                   {"pod.created", "pod.scheduled", "pod.terminating"},
	"PersistentVolumeClaim": {"claim.created"},
}

// OfComplaint finds the last step of an object, 0 when it has made none that is in the log.
func (f *Finder) OfComplaint(kind, name string) uint64 {
	return f.Within(AnyAge, asked[kind], func(e event.Event) bool { return e.Object.Kind == kind && e.Object.Name == name })
}

// In tables of causes, fault.injected/PREFIX and fault.healed/PREFIX stand for the effects of a fault that have no event: the
// beginning and the end of a fault with a kind that begins so.

// matchesAny reports whether the kind of an event is in a list of causes.
func matchesAny(e event.Event, kinds []string) bool {
	if slices.Contains(kinds, e.Kind) {
		return true
	}
	if !strings.HasPrefix(e.Kind, "fault.") {
		return false
	}
	_, kind := leaseOf(e)
	return kind != "" && slices.ContainsFunc(kinds, func(k string) bool {
		what, prefix, ok := strings.Cut(k, "/")
		return ok && what == e.Kind && strings.HasPrefix(kind, prefix)
	})
}

// leaseOf reads the lease's ID and the fault's kind in an event of the engine: "f3: vm.power-off on us/worker-1".
func leaseOf(e event.Event) (id, kind string) {
	id, rest, ok := strings.Cut(e.Message, ": ")
	if !ok {
		return "", ""
	}
	kind, _, _ = strings.Cut(rest, " on ")
	return id, kind
}

// anyTarget calls match for the event, or, when it is about a lease of several targets, for it as if it were about each.
func (f *Finder) anyTarget(e event.Event, match func(event.Event) bool) bool {
	if e.Object.Kind != "Lease" {
		return match(e)
	}
	l, _ := f.Lease(e.Object.Name)
	return slices.ContainsFunc(l.Targets, func(t fault.Leased) bool {
		e.Object = t.Target.Event()
		return match(e)
	})
}

// activeFault returns the newest beginning of a fault of such a kind that has not ended, however long ago it was.
func (f *Finder) activeFault(prefix string, match func(event.Event) bool) uint64 {
	healed := map[string]bool{}
	return f.Within(AnyAge, []string{"fault.injected/" + prefix, "fault.healed/" + prefix}, func(e event.Event) bool {
		id, _ := leaseOf(e)
		if e.Kind == "fault.healed" {
			healed[id] = true
			return false
		}
		return !healed[id] && match(e)
	})
}
