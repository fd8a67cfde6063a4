package event

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Plane is the part of the system on which an event was seen, and the lane of a timeline.
type Plane string

// The planes.
const (
	PlaneSandbox    Plane = "sandbox"    // the sandbox itself: boot, children, gates, commands
	PlaneVSphere    Plane = "vsphere"    // what a vCenter's inventory did
	PlaneKubernetes Plane = "kubernetes" // what the API server's objects did
)

// Level is the severity of an event.
type Level string

// The levels, from quiet to loud.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Error   Level = "error"
)

// Object identifies the subject of an event. The zero value is the whole sandbox.
type Object struct {
	// Kind is the usual term for it: VM, Node, VCenter, Component, Secret.
	Kind string `json:"kind,omitempty"`
	// VCenter scopes vSphere objects: vCenters may use the same names and references.
	VCenter string `json:"vcenter,omitempty"`
	Name    string `json:"name,omitempty"`
}

// Event is an event, as a value: a reader may keep and change its copy.
type Event struct {
	// Seq orders the log: 1 for the first event, then without gaps. [Log.Append] sets it.
	Seq uint64 `json:"seq"`
	// Time is set by [Log.Append] when zero.
	Time  time.Time `json:"time"`
	Plane Plane     `json:"plane"`
	Level Level     `json:"level"`
	// Kind is dotted lower case, noun first: vm.powered-off, node.not-ready, child.exited.
	Kind    string `json:"kind"`
	Object  Object `json:"object,omitzero"`
	Message string `json:"message"`
	// Cause is the Seq of the event that caused this one; 0 if unknown.
	Cause uint64 `json:"cause,omitempty"`
}

// DefaultCapacity is the default number of events in a [Log]: a day of a busy sandbox, some 20 MB.
const DefaultCapacity = 65536

// Log is an ordered, bounded log of events in memory. Create one with [NewLog]. Its methods are safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	ring  []Event
	last  uint64        // Seq of the newest event; 0 when empty
	grown chan struct{} // closed at the next append; nil while no reader waits
}

// NewLog returns an empty log that keeps the newest capacity events; capacity <= 0 means [DefaultCapacity].
func NewLog(capacity int) *Log {
	if capacity <= 0 {
		capacity = DefaultCapacity
	}
	return &Log{ring: make([]Event, 0, capacity)}
}

// Append adds e with the next Seq, which it returns for use as a Cause. It sets a missing time, and the level Info if e has none.
// It never blocks.
func (l *Log) Append(e Event) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.Seq = l.last
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Level = cmp.Or(e.Level, Info)
	if len(l.ring) < cap(l.ring) {
		l.ring = append(l.ring, e)
	} else {
		l.ring[(e.Seq-1)%uint64(cap(l.ring))] = e
	}
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
	return e.Seq
}

// Last returns the Seq of the newest event, 0 if the log is empty.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Read returns up to limit events after the event with Seq after, oldest first (0 reads from the start; limit <= 0 means no
// limit), and the number of events between after and the first returned one that the log has dropped. It does not wait, and may
// return no events.
func (l *Log) Read(after uint64, limit int) (events []Event, lost uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read(after, limit)
}

// read is Read with l.mu held.
func (l *Log) read(after uint64, limit int) (events []Event, lost uint64) {
	if oldest := l.last - uint64(len(l.ring)); after < oldest {
		lost, after = oldest-after, oldest
	}
	if after >= l.last {
		return nil, lost
	}
	n := l.last - after
	if limit > 0 {
		n = min(n, uint64(limit))
	}
	events = make([]Event, 0, n)
	for seq := after + 1; seq <= after+n; seq++ {
		events = append(events, l.ring[(seq-1)%uint64(cap(l.ring))])
	}
	return events, lost
}

// Wait is [Log.Read], but waits for the first event after the given Seq. It returns ctx's error when ctx ends.
func (l *Log) Wait(ctx context.Context, after uint64, limit int) (events []Event, lost uint64, err error) {
	for {
		l.mu.Lock()
		if events, lost = l.read(after, limit); len(events) > 0 {
			l.mu.Unlock()
			return events, lost, nil
		}
		if l.grown == nil {
			l.grown = make(chan struct{})
		}
		grown := l.grown
		l.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, lost, ctx.Err()
		}
	}
}
