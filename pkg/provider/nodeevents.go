package provider

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

const (
	// maxNodeStates bounds the nodes that are remembered. After that, a forgotten node's event is sent again.
	maxNodeStates = 5000
	// minInterval is the least time between two events with the same reason about one node, because a failing vCenter may
	// fail differently at every attempt.
	minInterval = time.Minute
)

// concern is one of the questions that the controllers ask about a node. Each has a separate state.
type concern int

const (
	metadataConcern   concern = iota // identity, addresses and zone
	existenceConcern                 // whether the VM exists; asked while the node is not ready
	shutdownConcern                  // whether the VM is off; asked while the node is not ready
	annotationConcern                // whether the VM annotation is readable
	concerns
)

// nodeEvents writes Events on Nodes about what prevents their initialization or deletion: once each, until that changes or
// ends. It never blocks, and remembers only nodes with a problem.
type nodeEvents struct {
	log *slog.Logger

	mu       sync.Mutex
	recorder record.EventRecorder // nil before the provider has started and after it has ended
	states   map[types.UID]*nodeState
}

// nodeState is what was reported about a node.
type nodeState struct {
	last  [concerns]*nodeEvent
	asked time.Time // time of the last question about it
}

// nodeEvent is an event about a node.
type nodeEvent struct {
	kind, reason, message string
	at                    time.Time
	duplicate             bool // already sent for another concern
}

func newNodeEvents(log *slog.Logger) *nodeEvents {
	return &nodeEvents{log: log, states: map[types.UID]*nodeState{}}
}

// attach sets the recorder that events go to; nil discards them.
func (e *nodeEvents) attach(r record.EventRecorder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recorder = r
}

// forget drops the state of a deleted node.
func (e *nodeEvents) forget(node *corev1.Node) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.states, nodeKey(node))
}

// report sends an event about a node, unless it repeats the last one of this concern, or another concern has sent it.
func (e *nodeEvents) report(node *corev1.Node, c concern, t nodeEvent) {
	if node.Name == "" {
		return // a query for a VM
	}
	t.message = note(t.message)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.recorder == nil {
		return
	}
	t.at = time.Now()
	ts := e.entry(nodeKey(node), t.at)
	if last := ts.last[c]; last != nil && last.reason == t.reason && (last.same(t) || t.at.Sub(last.at) < minInterval) {
		return
	}
	t.duplicate = slices.ContainsFunc(ts.last[:], func(other *nodeEvent) bool { return other != nil && other.same(t) })
	ts.last[c] = &t
	if !t.duplicate {
		e.send(node, t)
	}
}

// resolve records that concerns have no problem, and sends an event if one of them had.
func (e *nodeEvents) resolve(node *corev1.Node, message string, of ...concern) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ts := e.states[nodeKey(node)]
	if ts == nil || e.recorder == nil {
		return
	}
	over := ""
	for _, c := range of {
		if t := ts.last[c]; t != nil && t.kind == corev1.EventTypeWarning && !t.duplicate && over == "" {
			over = t.reason
		}
		ts.last[c] = nil
	}
	if ts.last == ([concerns]*nodeEvent{}) {
		delete(e.states, nodeKey(node))
	}
	if over != "" {
		e.send(node, nodeEvent{kind: corev1.EventTypeNormal, reason: ReasonNodeWell, message: message + " (was: " + over + ")"})
	}
}

func (t nodeEvent) same(other nodeEvent) bool {
	return t.reason == other.reason && t.message == other.message
}

// entry returns the state of a node. When the map is full, it replaces the node that was asked about longest ago.
func (e *nodeEvents) entry(key types.UID, now time.Time) *nodeState {
	ts := e.states[key]
	if ts == nil {
		if len(e.states) >= maxNodeStates {
			var oldest types.UID
			for k, t := range e.states {
				if o := e.states[oldest]; o == nil || t.asked.Before(o.asked) {
					oldest = k
				}
			}
			delete(e.states, oldest)
		}
		ts = &nodeState{}
		e.states[key] = ts
	}
	ts.asked = now
	return ts
}

func (e *nodeEvents) send(node *corev1.Node, t nodeEvent) {
	if t.kind == corev1.EventTypeWarning {
		e.log.Warn("node event", "node", node.Name, "reason", t.reason, "message", t.message)
	} else {
		e.log.Info("node event", "node", node.Name, "reason", t.reason, "message", t.message)
	}
	e.recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}, t.kind, t.reason, t.message)
}

// nodeKey distinguishes a node from an earlier one with the same name.
func nodeKey(node *corev1.Node) types.UID {
	if node.UID == "" {
		return types.UID(node.Name)
	}
	return node.UID
}

// rootFolder is how errors of package inventory name the folder above all datacenters. No view contains it, so that its
// name is unknown; each vCenter has one, with the same reference.
const rootFolder = `Folder "group-d1"`

// message returns err on one line with a hint, without the node's name and without what the event's reason already gives.
func message(node *corev1.Node, err error) string {
	text := strings.TrimPrefix(err.Error(), fmt.Sprintf("node %q: ", node.Name))
	text = strings.TrimPrefix(text, ErrDeletionHeldBack.Error()+": ")
	text = strings.ReplaceAll(text, rootFolder, "the root folder")
	return sentence(eventText(text), hint(node, err))
}

// hint returns what to do about err, where the error does not contain it.
func hint(node *corev1.Node, err error) string {
	switch reasonOf(err) {
	case ReasonInvalidProviderID:
		return "a providerID cannot be changed: delete the node and restart its kubelet, which registers it again"
	case ReasonForeignProviderID:
		return "to move the node to this provider, start its kubelet without --provider-id and delete the node"
	case ReasonVMAmbiguous:
		return "give each VM its own UUID and hostname"
	case ReasonZoneTagMissing:
		return "attach a tag of each category to one of these objects, or remove the labels from the configuration"
	case ReasonVMNotFound:
		return "check that the vm is in a configured vCenter and datacenter, that the account may read it, and that its guest reports its hostname"
	case ReasonVCenterUnavailable:
		waits := "the node stays as it is until then"
		if !initialized(node) {
			waits = "the node waits for it"
		}
		return sentence(remedy(err), waits)
	case ReasonVCenterNotConfigured:
		return fmt.Sprintf("the node stays; configure this vcenter again, or, if you know that the vm is gone: "+
			"kubectl delete node %s, or kubectl annotate node %[1]s %s-", node.Name, VMAnnotation)
	case ReasonVMUUIDChanged:
		return "the node stays; restore the vm's bios uuid, or delete the node and restart its kubelet, which registers it again"
	case ReasonDeletionHeldBack:
		if _, ok := errors.AsType[*match.StaleError](err); ok {
			return "" // the error contains it
		}
		return sentence(remedy(err), "the node stays; delete it if you know that its vm is gone")
	}
	return ""
}
