package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// showCalls is which calls are shown among the events.
type showCalls int

const (
	allCalls showCalls = iota
	failedCalls
	noCalls
	callChoices
)

// String says it in the title and in the help.
func (c showCalls) String() string {
	return [...]string{"all calls", "failed calls only", "no calls"}[c]
}

// burst is the calls of one client to one vCenter between two events: all that went well, or all that failed in part.
type burst struct {
	vcenter, client string
	methods         []string
	first, last     time.Time
	calls, errors   uint64
	total           time.Duration // of all calls
	err             string        // what the newest that failed was answered
}

func newBurst(b *fold.Burst) *burst {
	n := &burst{vcenter: b.VCenter, client: b.Client, first: b.At}
	n.add(b)
	return n
}

// same tells whether some more calls belong to it.
func (b *burst) same(more *fold.Burst) bool {
	return b.vcenter == more.VCenter && b.client == more.Client && (b.errors > 0) == (more.Errors > 0)
}

func (b *burst) add(more *fold.Burst) {
	if !slices.Contains(b.methods, more.Method) {
		b.methods = append(b.methods, more.Method)
	}
	if more.At.After(b.last) {
		b.last = more.At
	}
	b.calls += more.Calls
	b.errors += more.Errors
	b.total += more.Mean * time.Duration(more.Calls)
	if more.Error != "" {
		b.err = more.Error
	}
}

// level is a warning when some of the calls failed.
func (b *burst) level() event.Level {
	if b.errors > 0 {
		return event.Warning
	}
	return event.Info
}

// tag names who called, in three cells.
func (b *burst) tag() string {
	switch name := text.Agent(b.client); {
	case strings.Contains(name, "cloud-provider"):
		return "ccm"
	case strings.Contains(name, "csi"):
		return "csi"
	}
	return "api"
}

// who says who called whom. Where the tag stands before it, it needs not say which of the drivers it was.
func (b *burst) who(tagged bool) string {
	to := "→ " + text.Clean(b.vcenter)
	if tagged && b.tag() != "api" {
		return to
	}
	return text.Agent(b.client) + " " + to
}

// what says what was called.
func (b *burst) what() string {
	if len(b.methods) == 1 {
		return text.Method(b.methods[0])
	}
	return fmt.Sprintf("%d methods", len(b.methods))
}

// count says how many calls there were, in how long, and how long they took.
func (b *burst) count() string {
	mean := text.Took(b.total / time.Duration(max(1, b.calls)))
	if b.calls == 1 {
		return "1 call, " + mean
	}
	in := ""
	if d := b.last.Sub(b.first).Truncate(time.Second); d > 0 {
		in = " in " + text.Took(d)
	}
	return fmt.Sprintf("%s calls%s, %s each", text.Count(b.calls), in, mean)
}

// failed says how many failed, and how the last did.
func (b *burst) failed() string {
	said := text.Count(b.errors) + " failed"
	if b.err != "" {
		said += ": " + short(b.err)
	}
	return said
}

// told is what there is to be said of them at length: how the last that failed was answered, and what was called.
func (b *burst) told() string {
	methods := make([]string, len(b.methods))
	for i, m := range b.methods {
		methods[i] = text.Method(m)
	}
	said := strings.Join(methods, ", ")
	if b.err != "" {
		said = "the last that failed: " + b.err + "; called: " + said
	}
	return said
}
