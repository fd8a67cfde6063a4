package config

import (
	"maps"
	"slices"
	"strings"
)

// environment overrides the file with environment variables, whose names are upstream's:
//   - VSPHERE_USER, VSPHERE_PASSWORD and so on set the global section and the labels;
//   - VSPHERE_VCENTER, and VSPHERE_VCENTER_<id>, is a vCenter of the file or a new one, and VCENTER_<id>_USERNAME and so on
//     set its values.
//
// As upstream, a section of a vCenter that has its own user and password does not take those of VSPHERE_USER and
// VSPHERE_PASSWORD. An empty variable counts as not set.
func (w *parsedFile) environment(environ []string) {
	vars := map[string]string{}
	for _, pair := range environ {
		if name, text, ok := strings.Cut(pair, "="); ok && text != "" {
			vars[name] = text
		}
	}
	for _, v := range environmentVariables() {
		w.variable(vars, v.name, w.into(section{name: v.section}, ""), v.key)
	}
	if host := vars["VSPHERE_VCENTER"]; host != "" {
		w.vcenterNamed(host, "VSPHERE_VCENTER")
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		id, ok := strings.CutPrefix(name, "VSPHERE_VCENTER_")
		if !ok || id == "" || id == "PORT" { // VSPHERE_VCENTER_PORT is the global port
			continue
		}
		into := w.vcenterNamed(vars[name], name)
		for suffix, key := range map[string]string{
			"USERNAME": "user", "PASSWORD": "password", "PORT": "port", "INSECURE": "insecure-flag", "DATACENTERS": "datacenters",
		} {
			w.variable(vars, "VCENTER_"+id+"_"+suffix, into, key)
		}
	}
}

// environmentVariable is the variable of a key that is not of one vCenter.
type environmentVariable struct{ name, section, key string }

func environmentVariables() []environmentVariable {
	return []environmentVariable{
		{"VSPHERE_USER", "Global", "user"},
		{"VSPHERE_PASSWORD", "Global", "password"},
		{"VSPHERE_VCENTER_PORT", "Global", "port"},
		{"VSPHERE_DATACENTER", "Global", "datacenters"},
		{"VSPHERE_INSECURE", "Global", "insecure-flag"},
		{"VSPHERE_LABEL_REGION", "Labels", "region"},
		{"VSPHERE_LABEL_ZONE", "Labels", "zone"},
		{"GLOBAL_MAX_SNAPSHOTS_PER_BLOCK_VOLUME", "Snapshot", globalSnapshots},
	}
}

// variable sets a key if the variable is set.
func (w *parsedFile) variable(vars map[string]string, name string, into *values, key string) {
	text := vars[name]
	if text == "" {
		return
	}
	if into.by == nil {
		into.by = map[string]value{}
	}
	into.by[key] = value{text: text, path: name, set: true, environment: true}
}

// vcenterNamed returns the vCenter with the name, a new one if the file has none.
func (w *parsedFile) vcenterNamed(host, variable string) *values {
	if w.vcenters[host] == nil {
		w.vcenters[host] = &values{title: variable, by: map[string]value{}}
	}
	return w.vcenters[host]
}
