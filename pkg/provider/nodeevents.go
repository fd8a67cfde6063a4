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
	// maxTroubled bounds the nodes whose trouble is remembered. One that is forgotten is told again.
	maxTroubled = 5000
	// retellAfter is the least time between two events of the same reason about one node: a vCenter that fails may fail
	// another way at every attempt.
	retellAfter = time.Minute
)

// concern is one of the questions about a node. Each is in order or in trouble of its own.
type concern int

const (
	metadataConcern   concern = iota // who and where it is
	existenceConcern                 // whether its VM is there, asked while it is not ready
	shutdownConcern                  // whether its VM is off, asked then too
	annotationConcern                // whether its annotation can be read
	concerns
)

// nodeEvents tells operators by Events on Nodes what keeps a node from being served, each once, until it changes or is
// over. It never blocks and remembers only nodes in trouble.
type nodeEvents struct {
	log *slog.Logger

	mu       sync.Mutex
	recorder record.EventRecorder // nil before the provider has started and after it has ended
	troubled map[types.UID]*troubles
}

// troubles is what was told about a node.
type troubles struct {
	told  [concerns]*tale
	asked time.Time // when anything about it was last asked
}

// tale is an event about a node.
type tale struct {
	kind, reason, message string
	at                    time.Time
	other                 bool // another concern has told it
}

func newNodeEvents(log *slog.Logger) *nodeEvents {
	return &nodeEvents{log: log, troubled: map[types.UID]*troubles{}}
}

// attach sets where events go; nil for nowhere.
func (e *nodeEvents) attach(r record.EventRecorder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recorder = r
}

// forget ends the memory of a node that is no longer there.
func (e *nodeEvents) forget(node *corev1.Node) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.troubled, nodeKey(node))
}

// tell tells what is the matter with a node, unless it was the last thing told about this concern or is told by another.
func (e *nodeEvents) tell(node *corev1.Node, c concern, t tale) {
	if node.Name == "" {
		return // a question about a VM
	}
	t.message = note(t.message)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.recorder == nil {
		return
	}
	t.at = time.Now()
	ts := e.entry(nodeKey(node), t.at)
	if last := ts.told[c]; last != nil && last.reason == t.reason && (last.same(t) || t.at.Sub(last.at) < retellAfter) {
		return
	}
	t.other = slices.ContainsFunc(ts.told[:], func(other *tale) bool { return other != nil && other.same(t) })
	ts.told[c] = &t
	if !t.other {
		e.send(node, t)
	}
}

// well notes that a concern is in order, and says so once where it was not.
func (e *nodeEvents) well(node *corev1.Node, message string, of ...concern) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ts := e.troubled[nodeKey(node)]
	if ts == nil || e.recorder == nil {
		return
	}
	over := ""
	for _, c := range of {
		if t := ts.told[c]; t != nil && t.kind == corev1.EventTypeWarning && !t.other && over == "" {
			over = t.reason
		}
		ts.told[c] = nil
	}
	if ts.told == ([concerns]*tale{}) {
		delete(e.troubled, nodeKey(node))
	}
	if over != "" {
		e.send(node, tale{kind: corev1.EventTypeNormal, reason: ReasonNodeWell, message: message + " (was: " + over + ")"})
	}
}

// same tells whether two tales say the same.
func (t tale) same(other tale) bool { return t.reason == other.reason && t.message == other.message }

// entry returns the memory of a node and makes room for it; in place of whichever was asked about longest ago.
func (e *nodeEvents) entry(key types.UID, now time.Time) *troubles {
	ts := e.troubled[key]
	if ts == nil {
		if len(e.troubled) >= maxTroubled {
			var oldest types.UID
			for k, t := range e.troubled {
				if o := e.troubled[oldest]; o == nil || t.asked.Before(o.asked) {
					oldest = k
				}
			}
			delete(e.troubled, oldest)
		}
		ts = &troubles{}
		e.troubled[key] = ts
	}
	ts.asked = now
	return ts
}

func (e *nodeEvents) send(node *corev1.Node, t tale) {
	if t.kind == corev1.EventTypeWarning {
		e.log.Warn("node in trouble", "node", node.Name, "reason", t.reason, "message", t.message)
	} else {
		e.log.Info("node told", "node", node.Name, "reason", t.reason, "message", t.message)
	}
	e.recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}, t.kind, t.reason, t.message)
}

// nodeKey tells a node from one that had its name before.
func nodeKey(node *corev1.Node) types.UID {
	if node.UID == "" {
		return types.UID(node.Name)
	}
	return node.UID
}

// rootFolder is what zones call the folder above all datacenters: it is part of no view, so it has a reference and no
// name. A vCenter has one, and its reference is the same in all.
const rootFolder = `Folder "group-d1"`

// message is what err says on one line, without the node's name and what the event's reason says already, and what to do
// about it where that follows.
func message(node *corev1.Node, err error) string {
	text := strings.TrimPrefix(err.Error(), fmt.Sprintf("node %q: ", node.Name))
	text = strings.TrimPrefix(text, ErrDeletionHeldBack.Error()+": ")
	text = strings.ReplaceAll(text, rootFolder, "the root folder")
	return sentence(wording(text), hint(node, err))
}

// hint says what to do where the error itself does not.
func hint(node *corev1.Node, err error) string {
	switch reasonOf(err) {
	case ReasonInvalidProviderID:
		return "it cannot be changed: delete the node, and it registers anew when its kubelet is restarted"
	case ReasonForeignProviderID:
		return "if the node is to be this provider's, have its kubelet start without --provider-id, and delete the node"
	case ReasonVMAmbiguous:
		return "give each of them a UUID and a hostname of its own"
	case ReasonZoneTagMissing:
		return "attach a tag of each category to one of these, or set no labels in the configuration"
	case ReasonVMNotFound:
		return "it has to be in a configured vCenter and datacenter, where the account may read it, and its guest has to report its hostname"
	case ReasonVCenterUnavailable:
		waits := "the node stays as it is meanwhile"
		if !initialized(node) {
			waits = "the node waits for it"
		}
		return sentence(remedy(err), waits)
	case ReasonVCenterNotConfigured:
		return fmt.Sprintf("the node stays; configure this vcenter again, or, if you know that the vm is gone: "+
			"kubectl delete node %s, or kubectl annotate node %[1]s %s-", node.Name, VMAnnotation)
	case ReasonVMUUIDChanged:
		return "the node stays; give the vm its bios uuid back, or delete the node, and it registers again when its kubelet is restarted"
	case ReasonDeletionHeldBack:
		if _, ok := errors.AsType[*match.StaleError](err); ok {
			return "" // it says so itself
		}
		return sentence(remedy(err), "the node stays; delete it if you know that its vm is gone")
	}
	return ""
}
