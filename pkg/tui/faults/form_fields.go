package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// The labels of the fields that every fault has, where they apply.
const (
	labelTargets = "target"
	labelMode    = "mode"
	labelFor     = "for"
)

// make makes the fields: what it happens to, how many, how long, and the parameters.
func (f *Form) make(subject api.Subject) []*field {
	var all []*field
	kind := object(f.kind)
	if kind != nothing {
		targets := &field{
			label: labelTargets, empty: f.example(kind),
			help:    "names, * and ? allowed; zone=… host=… role=… labels=…; or all",
			check:   f.badTargets,
			doubt:   func(value string) string { return f.known.stranger(value, kind) },
			suggest: func(value string) string { return f.known.goesOn(value, kind) },
		}
		for _, s := range related(subject, f.known.state) {
			if s.Kind == kind && s.Name != "" {
				targets.set(quoted(f.known.called(s)))
				break
			}
		}
		all = append(all, targets, &field{
			label: labelMode, empty: "all that are named",
			help: "how many of them: one, all, a number, a percentage; which ones is drawn", choices: []string{"", "one", "all", "50%"}, check: badMode,
		})
	}
	if !f.kind.Momentary {
		all = append(all, &field{
			label: labelFor, empty: "until it is healed", help: "how long until it heals by itself: 30s, 5m", check: badFor,
		})
	}
	for _, p := range f.kind.Params {
		all = append(all, f.param(p))
	}
	return all // nothing, for a fault of the whole sandbox that is over at once and has no parameters
}

// example is what targets may be called.
func (f *Form) example(kind string) string {
	const most = 3
	all := f.known.names(kind)
	if len(all) == 0 {
		return "a " + f.kind.Object + ", by name"
	}
	text := "such as " + strings.Join(all[:min(most, len(all))], ", ")
	if len(all) > most {
		text += " …"
	}
	return text
}

// badTargets is about what the fault happens to. Where there is only one, and where the mode draws some, it need not be
// said.
func (f *Form) badTargets(value string) string {
	if value != "" {
		return badTargets(value)
	}
	if n := len(f.known.things(object(f.kind))); n > 1 && f.value(labelMode) == "" {
		return fmt.Sprintf("say which of %d: names, zone=…, or all", n)
	}
	return ""
}

func (f *Form) param(p api.FaultParam) *field {
	one := &field{label: p.Name, help: p.Short, check: func(value string) string { return badParam(p, value) }}
	switch {
	case p.Required:
		one.empty = "required"
	case p.Default != "":
		one.empty = "default " + p.Default
	default:
		one.empty = "none"
	}
	one.choices = p.Choices
	if p.Type == "bool" {
		one.choices = []string{"true", "false"}
	}
	if len(one.choices) > 0 && !p.Required {
		one.choices = append([]string{""}, slices.DeleteFunc(slices.Clone(one.choices), func(c string) bool { return c == p.Default })...)
	}
	if len(one.choices) == 0 {
		one.suggest = func(value string) string {
			if value == "" {
				return ""
			}
			return begins(f.known.names(p.Name), value) // of a parameter that names a host, a VM, a zone
		}
	}
	return one
}

// value is what is written in a field; "" when there is no such field.
func (f *Form) value(label string) string {
	for i, one := range f.fields {
		if one.label == label && i < len(f.fields)-len(f.kind.Params) {
			return one.text()
		}
	}
	return ""
}

// request is what the form asks for. What is wrong in it is left out.
func (f *Form) request() api.InjectRequest {
	r := api.InjectRequest{Fault: f.kind.Name, Mode: f.value(labelMode)}
	on, all, err := selector(f.value(labelTargets))
	if err == nil {
		r.On = on
	}
	if all && r.Mode == "" {
		r.Mode = everything
	}
	if d, err := time.ParseDuration(f.value(labelFor)); err == nil && d > 0 {
		r.For = api.Duration(d)
	}
	for i, p := range f.kind.Params {
		value := f.fields[len(f.fields)-len(f.kind.Params)+i].text()
		if value == "" || value == p.Default {
			continue
		}
		if r.Params == nil {
			r.Params = map[string]string{}
		}
		r.Params[p.Name] = value
	}
	if f.plan.there && f.plan.err == nil {
		r.Seed = f.plan.lease.Seed // what was planned is what happens
	}
	return r
}

// sentence begins with a capital and ends with a period.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[size:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}
