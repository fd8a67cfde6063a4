package wait

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// world is what conditions are about.
type world struct {
	status   api.Status
	nodes    []api.Node
	vms      []api.VM
	vcenters []api.VCenter
}

// condition is one thing that is waited for.
type condition struct {
	text string
	// holds tells whether it is so; if not, why tells how it is instead. An error means that it will never be so.
	holds func(world) (ok bool, why string, err error)
}

const syntax = `ready | initialized | node/NAME=STATE | node/NAME:taint=KEY | node/NAME:no-taint=KEY | vm/NAME=STATE | vcenter/NAME=STATE | ccm=healthy`

// states are those that can be waited for of a kind, nil for what is no kind.
func states(kind string) []string {
	switch kind {
	case "node":
		return []string{"Ready", "NotReady", "Unknown", "initialized", "registered", "deleted"}
	case "vm":
		return []string{"on", "off", "suspended", "deleted"}
	case "vcenter":
		return []string{"up", "down", "slow", "hung"}
	}
	return nil
}

// parse reads one --for.
func parse(text string) (condition, error) {
	object, want, hasState := strings.Cut(text, "=")
	switch {
	case text == "ready":
		return condition{text, allReady}, nil
	case text == "initialized":
		return condition{text, allInitialized}, nil
	case text == "ccm=healthy":
		return condition{text, ccmHealthy}, nil
	case !hasState:
		return condition{}, report.UsageError("--for='"+syntax+"'", "--for=%s is not a condition", text)
	}
	kind, name, _ := strings.Cut(object, "/")
	name, verb, hasVerb := cutLast(name, ":")
	if states(kind) == nil || name == "" || want == "" {
		return condition{}, report.UsageError("--for='"+syntax+"'", "--for=%s is not a condition", text)
	}
	if hasVerb {
		if kind != "node" || verb != "taint" && verb != "no-taint" {
			return condition{}, report.UsageError("--for=node/NAME:taint=KEY", "--for=%s is not a condition", text)
		}
		return condition{text, tainted(name, want, verb == "taint")}, nil
	}
	if !slices.Contains(states(kind), want) {
		return condition{}, report.UsageError(fmt.Sprintf("--for=%s/%s=%s", kind, name, strings.Join(states(kind), "|")),
			"--for=%s: there is no such state of a %s", text, kind)
	}
	switch kind {
	case "node":
		return condition{text, nodeIs(name, want)}, nil
	case "vm":
		return condition{text, vmIs(name, want)}, nil
	}
	return condition{text, vcenterIs(name, want)}, nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func allReady(w world) (bool, string, error) {
	n := w.status.Nodes
	if w.status.Phase != api.Ready {
		return false, strings.TrimSpace(fmt.Sprintf("the sandbox is %s %s", w.status.Phase, w.status.Step)), nil
	}
	return n.Ready >= n.Wanted && n.Initialized >= n.Wanted, fmt.Sprintf("%d of %d nodes are ready", min(n.Ready, n.Initialized), n.Wanted), nil
}

func allInitialized(w world) (bool, string, error) {
	n := w.status.Nodes
	return n.Initialized >= n.Wanted && n.Wanted > 0, fmt.Sprintf("%d of %d nodes are initialized", n.Initialized, n.Wanted), nil
}

// absent is the answer for a name that is not there: while booting it may come yet, later it is a mistake.
func absent(w world, kind, name string, names []string) (bool, string, error) {
	if w.status.Phase == api.Booting {
		return false, fmt.Sprintf("there is no %s %q yet", kind, name), nil
	}
	return false, "", command.NotFound(kind, name, names)
}

// ccmHealthy is about every cloud controller manager: of several those that do not lead, too.
func ccmHealthy(w world) (bool, string, error) {
	var ill []string
	found := false
	for _, c := range w.status.Components {
		if c.Source == "" { // no cloud controller manager
			continue
		}
		found = true
		if c.Health != "healthy" {
			ill = append(ill, strings.TrimSpace(c.Name+" "+c.Health))
		}
	}
	switch {
	case found:
		return len(ill) == 0, strings.Join(ill, ", "), nil
	case w.status.Phase == api.Booting:
		return false, "there is no cloud controller manager yet", nil
	}
	return false, "", &report.Error{Code: "not-found", Message: "the sandbox has no cloud controller manager", Try: command.Program + " ccm swap builtin"}
}
