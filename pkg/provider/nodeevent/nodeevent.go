// Package nodeevent writes Events on Nodes about what prevents their initialization or deletion.
//
//	r := nodeevent.New(log)
//	r.Attach(recorder)
//	r.Report(node, 0, nodeevent.Event{Type: corev1.EventTypeWarning, Reason: "VMNotFound", Message: "…"})
//	r.Resolve(node, "vm is found", 0)
//
// Floor 1: beside pkg/provider, which it does not import.
package nodeevent

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

const (
	// Well is the reason of the event that the problem of an earlier warning is over.
	Well = "NodeWell"
	// MaxConcerns is the number of concerns of a [Reporter].
	MaxConcerns = 4

	// maxNodes bounds the nodes that are remembered. After that, a forgotten node's event is sent again.
	maxNodes = 5000
	// minInterval is the least time between two events with the same reason about one node, because a failing vCenter may
	// fail differently at every attempt.
	minInterval = time.Minute
	// maxNote is the API server's limit for the message of an event, in bytes.
	maxNote = 1024
)

// Concern is one of the questions that the controllers ask about a node, less than [MaxConcerns]. Each has a separate state.
type Concern int

// Event is an event about a node.
type Event struct {
	// Type is corev1.EventTypeNormal or EventTypeWarning.
	Type, Reason, Message string
}

// Reporter writes Events on Nodes: once each, until that changes or ends. Create it with [New]. It is safe for concurrent use,
// never blocks, and remembers only nodes with a problem.
type Reporter struct {
	log *slog.Logger

	mu       sync.Mutex
	recorder record.EventRecorder // nil before the provider has started and after it has ended
	states   map[types.UID]*state
}

// state is what was reported about a node.
type state struct {
	last  [MaxConcerns]*reported
	asked time.Time // time of the last question about it
}

type reported struct {
	Event
	at        time.Time
	duplicate bool // already sent for another concern
}

// New returns a Reporter without a recorder.
func New(log *slog.Logger) *Reporter {
	return &Reporter{log: log, states: map[types.UID]*state{}}
}

// Attach sets the recorder that events go to; nil discards them.
func (r *Reporter) Attach(recorder record.EventRecorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorder = recorder
}

// Remembered returns the number of nodes with a problem.
func (r *Reporter) Remembered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.states)
}

// Forget drops the state of a deleted node.
func (r *Reporter) Forget(node *corev1.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.states, nodeKey(node))
}

// Report sends an event about a node, unless it repeats the last one of this concern, or another concern has sent it.
func (r *Reporter) Report(node *corev1.Node, c Concern, e Event) {
	if node.Name == "" {
		return // a query for a VM
	}
	e.Message = Note(e.Message)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder == nil {
		return
	}
	now := time.Now()
	s := r.entry(nodeKey(node), now)
	if last := s.last[c]; last != nil && last.Reason == e.Reason && (last.same(e) || now.Sub(last.at) < minInterval) {
		return
	}
	duplicate := slices.ContainsFunc(s.last[:], func(other *reported) bool { return other != nil && other.same(e) })
	s.last[c] = &reported{e, now, duplicate}
	if !duplicate {
		r.send(node, e)
	}
}

// Resolve records that concerns have no problem, and sends an event if one of them had.
func (r *Reporter) Resolve(node *corev1.Node, message string, concerns ...Concern) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.states[nodeKey(node)]
	if s == nil || r.recorder == nil {
		return
	}
	over := ""
	for _, c := range concerns {
		if last := s.last[c]; last != nil && last.Type == corev1.EventTypeWarning && !last.duplicate && over == "" {
			over = last.Reason
		}
		s.last[c] = nil
	}
	if s.last == ([MaxConcerns]*reported{}) {
		delete(r.states, nodeKey(node))
	}
	if over != "" {
		r.send(node, Event{corev1.EventTypeNormal, Well, message + " (was: " + over + ")"})
	}
}

func (r *reported) same(e Event) bool {
	return r.Reason == e.Reason && r.Message == e.Message
}

// entry returns the state of a node. When the map is full, it replaces the node that was asked about longest ago.
func (r *Reporter) entry(key types.UID, now time.Time) *state {
	s := r.states[key]
	if s == nil {
		if len(r.states) >= maxNodes {
			var oldest types.UID
			for k, t := range r.states {
				if o := r.states[oldest]; o == nil || t.asked.Before(o.asked) {
					oldest = k
				}
			}
			delete(r.states, oldest)
		}
		s = &state{}
		r.states[key] = s
	}
	s.asked = now
	return s
}

func (r *Reporter) send(node *corev1.Node, e Event) {
	if e.Type == corev1.EventTypeWarning {
		r.log.Warn("node event", "node", node.Name, "reason", e.Reason, "message", e.Message)
	} else {
		r.log.Info("node event", "node", node.Name, "reason", e.Reason, "message", e.Message)
	}
	r.recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}, e.Type, e.Reason, e.Message)
}

// nodeKey distinguishes a node from an earlier one with the same name.
func nodeKey(node *corev1.Node) types.UID {
	if node.UID == "" {
		return types.UID(node.Name)
	}
	return node.UID
}

// Note cuts a message to what the API server takes.
func Note(message string) string {
	if len(message) <= maxNote {
		return message
	}
	return strings.ToValidUTF8(message[:maxNote-3], "") + "..." // not in the middle of a character
}

var (
	// httpCall is what Go's HTTP client puts before the reason of a failed call. Messages name the vCenter already.
	httpCall = regexp.MustCompile(`\b(?:Get|Post|Delete|Put|Patch) "https?://[^"]*": `)
	// ownPort is the port of our end of a connection, which differs each time.
	ownPort = regexp.MustCompile(`:\d+->`)
	// plainer drops what libraries add to a reason, and the period at the end of a vSphere fault.
	plainer = strings.NewReplacer(
		" (Client.Timeout exceeded while awaiting headers)", "",
		context.DeadlineExceeded.Error(), "no answer before the timeout",
		"ServerFaultCode: ", "",
		".; ", "; ",
	)
)

// Text returns text on one line for an Event, without details that do not help an operator.
func Text(text string) string {
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\n", "; ")), " ")
	text = httpCall.ReplaceAllString(text, "")
	text = ownPort.ReplaceAllString(text, "->")
	return plainer.Replace(text)
}
