package page

import (
	"cmp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
)

// group is a part of the system that gets lanes of its own, in a color of its own.
type group struct {
	ID, Name string
}

// The groups, in the order in which causes run through them.
var (
	done       = group{"done", "What was done"}
	vsphere    = group{"vsphere", "vSphere"}
	gate       = group{"gate", "vCenter API"}
	ccm        = group{"ccm", "Cloud provider"}
	kubernetes = group{"kubernetes", "Kubernetes"}
	process    = group{"process", "Processes"}
	sandbox    = group{"sandbox", "Sandbox"}
)

func groups() []group { return []group{done, vsphere, gate, process, ccm, kubernetes, sandbox} }

// lane tells where an event is drawn: its group, and the name of its lane there.
func lane(e event.Event) (group, string) {
	head, _, _ := strings.Cut(e.Kind, ".")
	name := report.Line(scoped(e.Object))
	switch {
	case head == "fault", head == "lease", head == "command":
		return done, cmp.Or(name, "sandbox")
	case head == "gate", e.Plane == event.PlaneSandbox && e.Object.Kind == "VCenter":
		return gate, cmp.Or(name, "all")
	case head == "ccm", e.Object.Kind == "Component" && strings.HasPrefix(e.Object.Name, "ccm"):
		return ccm, cmp.Or(name, "ccm")
	case head == "child", e.Plane == event.PlaneSandbox && (e.Object.Kind == "Node" || e.Object.Kind == "Component"):
		return process, cmp.Or(name, "children")
	case e.Plane == event.PlaneVSphere:
		return vsphere, cmp.Or(name, "inventory")
	case e.Plane == event.PlaneKubernetes:
		return kubernetes, cmp.Or(name, "cluster")
	}
	return sandbox, cmp.Or(name, head, "sandbox")
}

// scoped names an object; what is no VM and no node says what it is.
func scoped(o event.Object) string {
	name := o.Name
	if o.VCenter != "" && o.VCenter != o.Name {
		name = o.VCenter + "/" + name
	}
	switch o.Kind {
	case "VM", "Node", "Component", "VCenter", "":
		return name
	}
	return strings.ToLower(o.Kind) + " " + name
}

// word is an event in a word or two, for beside its mark.
func word(e event.Event) string {
	head, verb, ok := strings.Cut(e.Kind, ".")
	if !ok {
		verb = e.Kind
	}
	if head == "scenario" {
		return shorten(report.Line(e.Message), 34)
	}
	switch e.Kind {
	case "node.tainted", "node.untainted":
		if _, key, ok := strings.Cut(e.Message, "/"); ok {
			verb += ": " + strings.TrimSuffix(key, " is gone")
		}
	case "fault.injected", "fault.healed", "fault.applied":
		if kind := faultKind(e.Message); kind != "" {
			verb = strings.TrimSpace(strings.TrimPrefix(verb, "injected") + " " + kind)
		}
	}
	return shorten(report.Line(verb), 34)
}

// faultKind finds the kind of a fault in a message: "f1: vcenter.down on us".
func faultKind(message string) string {
	for word := range strings.FieldsSeq(message) {
		word = strings.TrimSuffix(word, ":")
		if object, verb, ok := strings.Cut(word, "."); ok && object != "" && verb != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-.") == "" {
			return word
		}
	}
	return ""
}

// shorten cuts a text to so many characters.
func shorten(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:max(0, most-1)]) + "…"
}
