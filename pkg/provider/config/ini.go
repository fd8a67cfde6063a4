package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// iniReader reads the INI form: upstream's, and the in-tree provider's in both its forms.
type iniReader struct {
	name string
	p    *problems
	// set is the line each key was set at, by its path.
	set map[string]int
}

// iniUnused are the sections that are known and have no effect: the in-tree provider's for volumes, and upstream's for
// NSX-T.
func iniUnused() []string {
	return []string{"Workspace", "Disk", "Network", "NSXT", "NSX-T", "LoadBalancer", "LoadBalancerClass", "Route"}
}

// iniSections are all that are known.
func iniSections() []string {
	return append(iniUnused(), "Global", "VirtualCenter", "Labels", "Nodes")
}

// iniKeys are all keys that a file may have, those of sections without effect and the CSI driver's in place of another's too.
func iniKeys() []string {
	return slices.Concat(
		names(globalFields(), iniName), names(labelFields(), iniName), names(nodeFields(), iniName),
		[]string{"folder", "default-datastore", "resourcepool-path", "scsicontrollertype", "public-network", "cluster-id"},
	)
}

// familiar is whether a word is one of the names, but for case and hyphens, and for a slip if it is so long that it is none by
// chance.
func familiar(word string, all []string) bool {
	const long = 8
	return len(word) >= long && nearest.Of(word, all) != "" || slices.ContainsFunc(all, func(name string) bool { return fold(name) == fold(word) })
}

// readINI returns nil when there is nothing worth checking further.
func readINI(name string, data []byte, p *problems) *file {
	sections, lost := scanINI(name, data, p)
	if len(sections) == 0 {
		if len(p.list) == 0 {
			p.at(position{file: name}, "", "file is empty")
		}
		return nil
	}
	r := &iniReader{name, p, map[string]int{}}
	f := &file{format: INI, name: name, lost: lost, global: endpoint{at: position{file: name, path: "[Global]"}}}
	for _, s := range sections {
		r.section(f, s)
	}
	r.oldForm(f)
	return f
}

func (r *iniReader) section(f *file, s iniSection) {
	at := position{file: r.name, line: s.line, column: s.column, path: s.title()}
	fields := strings.ToLower(s.name)
	switch {
	case fields == "virtualcenter" && !s.hasSub:
		f.lost = true
		r.p.at(at, "", `a vCenter's section has its address or a name in quotes: [VirtualCenter "192.0.2.1"]`)
	case fields == "virtualcenter":
		e := f.vcenter(s.sub, at)
		if !e.server.set {
			e.server.put(s.sub, at) // what the section calls itself, unless it says otherwise
		}
		setSection(r, s, at, e, vcenterFields())
	case anyFold(iniUnused(), s.name):
		r.p.warn(at, "has no effect")
	case s.hasSub && (fields == "global" || fields == "labels" || fields == "nodes"):
		r.p.at(at, "", "this section has no second name")
	case fields == "global":
		f.global.at = at
		setSection(r, s, at, &f.global, globalFields())
	case fields == "labels":
		setSection(r, s, at, &f.labels, labelFields())
	case fields == "nodes":
		setSection(r, s, at, &f.nodes, nodeFields())
	default:
		hint := ""
		if best := nearest.Of(s.name, iniSections()); best != "" {
			hint = "did you mean [" + best + "]?"
		}
		f.lost = true
		r.p.at(at, hint, "unknown section")
	}
}

// setSection reads the keys of one section, whose case counts for nothing.
func setSection[S any](r *iniReader, s iniSection, section position, into *S, fields []field[S]) {
	for _, e := range s.entries {
		key := strings.ToLower(e.key)
		at := position{file: r.name, line: e.line, column: e.column, path: section.path + " " + e.key}
		f, ok := named(fields, iniName, key)
		if !ok {
			at.path = section.path + " " + e.called()
			r.p.unknown(at, func() string { return unknownHint(e.key, names(fields, iniName), iniElsewhere()) })
			continue
		}
		id := strings.ToLower(s.name) + "\x00" + s.sub + "\x00" + key
		if line := r.set[id]; line > 0 {
			r.p.at(at, "", "is set in line %d already", line)
			continue
		}
		r.set[id] = e.line
		if f.into == nil {
			r.p.warn(at, "has no effect")
			continue
		}
		dst := f.into(into)
		if _, isBool := dst.(*cell[bool]); e.bare && !isBool {
			r.p.at(at, "", "has no value")
			continue
		}
		if e.bare {
			e.value = "true"
		}
		setText(dst, e.value, at, r.p)
	}
}

// oldForm gives the in-tree provider's old form, which has no section for a vCenter, its one datacenter. In the other
// form that provider did not look at the key either.
func (r *iniReader) oldForm(f *file) {
	dc := f.global.datacenter1
	switch {
	case !dc.set:
	case len(f.vcenters) > 0 || f.global.datacenters.set:
		r.p.warn(dc.at, "has no effect")
	default:
		f.global.datacenters.put([]string{dc.value}, dc.at)
	}
}

// title is the section's header.
func (s iniSection) title() string {
	if s.hasSub {
		return fmt.Sprintf("[%s %q]", s.name, withoutLogin(s.sub))
	}
	return "[" + s.name + "]"
}

// iniElsewhere is every key with its section, the folded key in front.
func iniElsewhere() map[string]string {
	all := map[string]string{}
	for section, keys := range map[string][]string{
		"[Global]": names(globalFields(), iniName), "[Labels]": names(labelFields(), iniName), "[Nodes]": names(nodeFields(), iniName),
	} {
		for _, key := range keys {
			all[fold(key)] = section + " " + key
		}
	}
	return all
}

func anyFold(list []string, s string) bool {
	for _, item := range list {
		if strings.EqualFold(item, s) {
			return true
		}
	}
	return false
}
