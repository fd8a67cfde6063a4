package world

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Snapshot is how a world was, as far as it should be so again when everything is over.
type Snapshot map[Kind]map[string]state

// state is the fields of a thing that matter, by name.
type state struct {
	name   string
	fields map[string]string
}

// lasting are the fields that are the same before and after: not counters, ages and process numbers.
func lasting(k Kind) []string {
	switch k {
	case Node:
		return []string{"registered", "ready", "initialized", "taints", "region", "zone", "providerID", "instanceType", "addresses", "unschedulable", "vm", "vcenter", "datacenter"}
	case VM:
		return []string{"power", "connection", "tools", "hostname", "addresses", "uuid", "datacenter", "region", "zone", "role", "process"}
	case Host:
		return []string{"connection", "power", "cluster"}
	case VCenter:
		return []string{"gate", "delay"}
	case Component:
		return []string{"state"}
	case Volume:
		return []string{"claim"} // its place may change; the volumes of a scenario must be gone
	}
	return nil
}

// Snapshot is how the world is.
func (w *World) Snapshot() Snapshot {
	s := Snapshot{}
	for _, kind := range Kinds() {
		names := lasting(kind)
		if names == nil {
			continue
		}
		s[kind] = map[string]state{}
		fields := slices.DeleteFunc(kind.Fields(), func(f Field) bool { return !slices.Contains(names, f.Name) })
		for _, row := range w.Rows(kind) {
			if !row.Exists() {
				continue
			}
			one := state{name: row.Name, fields: map[string]string{}}
			for _, f := range fields {
				text := ""
				if f.List {
					list := row.List(f)
					slices.Sort(list)
					text = strings.Join(list, ", ")
				} else {
					text = row.Text(f)
				}
				one.fields[f.Name] = text
			}
			s[kind][key(row)] = one
		}
	}
	return s
}

// key is what a thing is known by when it was made again: VMs and their references come and go.
func key(row Row) string {
	if vm, ok := row.Value.(api.VM); ok {
		return vm.VCenter + vm.Path
	}
	return row.Key
}

// Since says what is not as it was, a line for each thing.
func (s Snapshot) Since(before Snapshot) []string {
	var lines []string
	for _, kind := range Kinds() {
		for _, key := range sorted(before[kind]) {
			was := before[kind][key]
			is, there := s[kind][key]
			if !there {
				lines = append(lines, fmt.Sprintf("%s %s is gone", kind, was.name))
				continue
			}
			var parts []string
			for _, field := range sorted(was.fields) {
				if was.fields[field] != is.fields[field] && !cameUp(field, was.fields[field], is.fields[field]) {
					parts = append(parts, fmt.Sprintf("%s is %q, was %q", field, is.fields[field], was.fields[field]))
				}
			}
			if len(parts) > 0 {
				lines = append(lines, fmt.Sprintf("%s %s: %s", kind, was.name, strings.Join(parts, "; ")))
			}
		}
		for _, key := range sorted(s[kind]) {
			if _, was := before[kind][key]; !was && !s[kind][key].ended(kind) {
				lines = append(lines, fmt.Sprintf("%s %s was not there", kind, s[kind][key].name))
			}
		}
	}
	return lines
}

// ended reports whether a thing is only a log: the process of a component has ended with the VM that it was for.
func (s state) ended(kind Kind) bool { return kind == Component && s.fields["state"] == "stopped" }

// cameUp reports whether a field is another because the sandbox had only just come up: it had no value, or was not yet well.
func cameUp(field, was, is string) bool {
	switch field {
	case "taints":
		return false
	case "tools", "initialized":
		return is == "yes"
	case "ready":
		return is == "True"
	case "state", "process":
		return is == "running"
	}
	return was == ""
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
