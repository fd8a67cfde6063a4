package sandbox

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// causes tells for a kind of event of a node which kinds of events of the node, its kubelet or its VM bring it about.
// What is not here, or has none of them behind it, has no known cause: a wrong one would be worse than none.
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

// causeOf finds the newest event that may have made a node change so, 0 when there is none. One that is older than the
// cluster takes to notice anything did not.
func (s *Sandbox) causeOf(node, kind string) uint64 {
	vm := s.nodes.behind(node)
	about := func(e event.Event) bool {
		switch {
		case e.Object.Kind == "Node":
			return e.Object.Name == node
		case e.Kind == "tag.attached": // to something above it, which the log does not know
			return e.Object.VCenter == vm.vcenter && s.ofZone(e)
		case e.Kind == "ccm.vcenter-connected": // a VM that is gone from its vCenter might have been at any other
			return true
		case e.Object.Kind == "VM":
			return e.Object.VCenter == vm.vcenter && e.Object.Name == vm.vm
		}
		return false
	}
	if !slices.Contains(lasting, kind) {
		return s.newest(causes[kind], about)
	}
	seq := s.within(everSince, causes[kind], about)
	if s.within(everSince, []string{"node.registered"}, about) > seq {
		return 0 // another VM has the name by now
	}
	return seq
}

// ofZone tells whether a tag of the event says where something is: "tag k8s-zone/us-west attached by …".
func (s *Sandbox) ofZone(e event.Event) bool {
	c := s.topology().Spec.Categories
	return strings.HasPrefix(e.Message, "tag "+c.Region+"/") || strings.HasPrefix(e.Message, "tag "+c.Zone+"/")
}

// causeOfTaint finds what put a taint on a node. That it is out of service is for people to say: it is a command, or nothing
// that the log knows.
func (s *Sandbox) causeOfTaint(node, key string) uint64 {
	if key != corev1.TaintNodeOutOfService {
		return s.causeOf(node, "node.tainted")
	}
	return s.outOfServiceAsked(node)
}

// outOfServiceAsked is the newest command that put a node out of service, or in service again.
func (s *Sandbox) outOfServiceAsked(node string) uint64 {
	return s.newest([]string{"command.out-of-service"}, func(e event.Event) bool { return e.Object.Name == node })
}

// causeOfTaintGone finds what took a taint from a node: that it is initialized, or that it is back.
func (s *Sandbox) causeOfTaintGone(node, key string) uint64 {
	switch key {
	case corev1.TaintNodeOutOfService:
		return s.outOfServiceAsked(node)
	case cloudproviderapi.TaintExternalCloudProvider:
	default:
		return s.causeOf(node, "node.untainted")
	}
	return s.newest([]string{"node.provider-id"}, func(e event.Event) bool { return e.Object.Name == node })
}

// causeOfProcess finds what made a kubelet start or stop: its VM.
func (s *Sandbox) causeOfProcess(state child.State, about func(event.Event) bool) uint64 {
	var kinds []string
	switch state {
	case child.Started:
		kinds = []string{"guest.up"}
	case child.Stopped:
		kinds = []string{"vm.powered-off", "vm.reset", "vm.destroyed", "vm.died"}
	}
	return s.newest(kinds, func(e event.Event) bool { return e.Plane == event.PlaneVSphere && about(e) })
}

// newest returns the Seq of the newest recent event of one of the kinds that match likes, 0 when there is none.
func (s *Sandbox) newest(kinds []string, match func(event.Event) bool) uint64 {
	return s.within(s.notice(), kinds, match)
}

// notice is how long the cluster takes at most to notice something.
func (s *Sandbox) notice() time.Duration {
	return 2*s.grace() + 10*time.Second
}

// grace is how long the cluster goes without hearing of a node before it takes it for lost: one that others use lives at the
// speed that it has.
func (s *Sandbox) grace() time.Duration {
	return cmp.Or(s.facts.Speed, s.opts.Speed).Of(pace.NodeMonitorGracePeriod)
}

// everSince is an age that no event has.
const everSince = time.Duration(math.MaxInt64)

// within is newest among events that are not older than age.
func (s *Sandbox) within(age time.Duration, kinds []string, match func(event.Event) bool) uint64 {
	const far = 4096 // events
	if len(kinds) == 0 {
		return 0
	}
	last := s.log.Last()
	events, _ := s.log.Read(last-min(last, far), 0)
	for _, e := range slices.Backward(events) {
		if time.Since(e.Time) > age {
			break
		}
		if isOneOf(e, kinds) && s.eachTarget(e, match) {
			return e.Seq
		}
	}
	return 0
}
