package config

import (
	"maps"
	"slices"
	"strings"
)

// environment stands for a file's name in positions.
const environment = "environment"

// readEnvironment puts environment variables over what the file says. Their names are upstream's:
//   - VSPHERE_USER and the like set the global section, labels and nodes;
//   - VSPHERE_VCENTER_<id> names a vCenter by its tenant or its server, one of the file's or one more, and
//     VCENTER_<id>_USERNAME and the like set its values;
//   - SKIP_NODE_DELETION and ENABLE_ALPHA_DUAL_STACK count by being there.
//
// A variable that is empty counts as absent, these two excepted; one that nobody knows is somebody else's.
func (f *file) readEnvironment(environ []string, p *problems) {
	vars := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			vars[name] = value
		}
	}
	global := map[string]bool{}
	setVars(vars, &f.global, globalFields(), global, p)
	setVars(vars, &f.labels, labelFields(), global, p)
	setVars(vars, &f.nodes, nodeFields(), global, p)

	for _, name := range slices.Sorted(maps.Keys(vars)) {
		id, ok := strings.CutPrefix(name, "VSPHERE_VCENTER_")
		if !ok || id == "" || global[name] || vars[name] == "" {
			continue
		}
		e := f.endpoint(vars[name], inEnvironment(name))
		for _, field := range vcenterFields() {
			if name := "VCENTER_" + id + "_" + field.vcEnv; field.vcEnv != "" && vars[name] != "" {
				setText(field.into(e), vars[name], inEnvironment(name), p)
			}
		}
	}
	f.skipNodeDeletion = switched(vars, "SKIP_NODE_DELETION", p)
	f.alphaDualStack = switched(vars, "ENABLE_ALPHA_DUAL_STACK", p)
}

// setVars sets the cells of one section, and notes which variables are known here.
func setVars[S any](vars map[string]string, into *S, fields []field[S], known map[string]bool, p *problems) {
	for _, f := range fields {
		if f.env == "" {
			continue
		}
		name := "VSPHERE_" + f.env
		known[name] = true
		if vars[name] != "" {
			setText(f.into(into), vars[name], inEnvironment(name), p)
		}
	}
}

// endpoint returns the vCenter of a tenant's name or, failing that, a server; a new one when the file has neither.
func (f *file) endpoint(name string, at position) *endpoint {
	if e := f.vcenters[name]; e != nil {
		return e
	}
	for _, tenant := range slices.Sorted(maps.Keys(f.vcenters)) {
		if e := f.vcenters[tenant]; sameHost(e.server.value, name) || strings.EqualFold(tenant, name) {
			return e
		}
	}
	e := f.vcenter(name, at)
	e.server.put(name, at)
	return e
}

// switched reports whether a variable is there, whatever its value: upstream does not look at it.
func switched(vars map[string]string, name string, p *problems) bool {
	value, ok := vars[name]
	if b, isBool := parseBool(value); ok && isBool && !b {
		p.warn(inEnvironment(name), "counts as set: its value %q is not looked at", value)
	}
	return ok
}

func inEnvironment(name string) position { return position{file: environment, path: name} }
