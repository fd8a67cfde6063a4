package fold

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Finding is a disagreement of the planes: a VM that is off and whose node is Ready, a tag with another zone than the label.
type Finding struct {
	// Subject is a node, a vm or a volume. A volume has the name of its claim, as in its row, or its own without a claim.
	api.Subject
	// Field is what they disagree on: ready, registered, initialized, vm, zone, region, providerID, addresses of a node; uuid of a
	// VM; volume.
	Field string
	// Text describes it in a few words: "VM off, node still Ready".
	Text string
	// Since is when it was found.
	Since time.Time
	// Settling means that it may be normal, as it has not lasted long. How long depends on the sandbox's speed: the node of a VM
	// that went off stays Ready until its lease expires.
	Settling bool
}

// Findings returns all findings: of nodes, VMs, volumes, each by name. Do not change the slice.
func (s *State) Findings() []Finding { return s.findings.all() }

// FindingsOf are those about a subject; its VCenter matters only where it is set. A volume may be called by any of its
// names. The slice is not to be changed.
func (s *State) FindingsOf(about api.Subject) []Finding {
	s.findings.all()
	of := s.findings.about[subjectName{about.Kind, about.Name}]
	if keys := s.findings.volumes[about.Name]; about.Kind == string(world.Volume) && of == nil && len(keys) > 0 {
		row, _ := s.world.Row(world.Volume, keys[0])
		of = s.findings.about[subjectName{about.Kind, row.Name}]
	}
	if about.VCenter == "" || !slices.ContainsFunc(of, func(f Finding) bool { return f.VCenter != about.VCenter }) {
		return of
	}
	return slices.DeleteFunc(slices.Clone(of), func(f Finding) bool { return f.VCenter != about.VCenter })
}

// examine examines changed rows again.
func (s *State) examine() {
	if !s.world.Synced() || s.again {
		return // not all rows have arrived
	}
	for _, kind := range s.findings.examine(s.now) {
		s.touch(kind)
	}
}

// findings keeps the findings of each row, and the rows to examine again. The findings of a row depend on few others, which the
// indexes find.
type findings struct {
	world *world.World
	speed pace.Speed

	vms         index // vCenter/name: keys of VMs
	names       index // names that nodes may have: keys of VMs
	uuids       index // UUIDs: keys of VMs
	nodes       index // vCenter/VM: keys of nodes
	attached    index // nodes: keys of attachments
	attachments index // volumes: keys of attachments
	volumes     index // names of volumes: keys of them
	leases      map[string][]api.LeaseTarget

	dirty map[rowKey]bool // the rows to examine again, and
	todo  []rowKey        // in which order
	by    map[rowKey][]Finding
	due   map[rowKey]time.Time // when the next finding about a row is settling no more
	next  time.Time            // when the next of all is; zero for never

	list  []Finding // nil when it has to be made again
	about map[subjectName][]Finding
}

type rowKey struct {
	kind world.Kind
	key  string
}

type subjectName struct{ kind, name string }

// found is a finding before it is known since when it is so.
type found struct {
	field, text string
	lag         time.Duration // for how long it is nothing special
}

func newFindings(w *world.World, speed pace.Speed) *findings {
	return &findings{
		world: w, speed: speed, vms: index{}, names: index{}, uuids: index{}, nodes: index{}, attached: index{}, attachments: index{}, volumes: index{},
		leases: map[string][]api.LeaseTarget{}, dirty: map[rowKey]bool{}, by: map[rowKey][]Finding{}, due: map[rowKey]time.Time{},
	}
}

// examine looks at the rows that may have changed, and returns the kinds of those about which something else is found.
func (f *findings) examine(now time.Time) (kinds []world.Kind) {
	for _, at := range f.todo {
		delete(f.dirty, at) // clear would take as long as there ever was something in it
		subject, list := f.look(at)
		was := f.by[at]
		if len(was) == 0 && len(list) == 0 {
			continue
		}
		is := make([]Finding, len(list))
		delete(f.due, at)
		for i, one := range list {
			is[i] = Finding{Subject: subject, Field: one.field, Text: one.text, Since: now}
			for _, old := range was {
				if old.Field == one.field {
					is[i].Since = old.Since
				}
			}
			is[i].Settling = now.Before(is[i].Since.Add(one.lag))
			if is[i].Settling {
				f.expect(at, is[i].Since.Add(one.lag))
			}
		}
		if slices.Equal(was, is) {
			continue
		}
		if f.list = nil; len(is) == 0 {
			delete(f.by, at)
		} else {
			f.by[at] = is
		}
		if !slices.Contains(kinds, at.kind) {
			kinds = append(kinds, at.kind)
		}
	}
	f.todo = f.todo[:0]
	if kinds != nil {
		kinds = append(kinds, Findings)
	}
	return kinds
}

// soil marks a row for examination.
func (f *findings) soil(at rowKey) {
	if !f.dirty[at] {
		f.dirty[at] = true
		f.todo = append(f.todo, at)
	}
}

// look returns the current findings of a row.
func (f *findings) look(at rowKey) (api.Subject, []found) {
	row, _ := f.world.Row(at.kind, at.key)
	switch v := row.Value.(type) {
	case api.Node:
		return api.Subject{Kind: string(world.Node), VCenter: v.VCenter, Name: v.Name}, f.ofNode(v)
	case api.VM:
		return api.Subject{Kind: string(world.VM), VCenter: v.VCenter, Name: v.Name}, f.ofVM(at.key, v)
	case api.Volume:
		return api.Subject{Kind: string(world.Volume), VCenter: v.VCenter, Name: row.Name}, f.ofVolume(v)
	}
	return api.Subject{}, nil // it is gone
}

// settle marks the rows whose settling time is over.
func (f *findings) settle(now time.Time) {
	if f.next.IsZero() || now.Before(f.next) {
		return
	}
	f.next = time.Time{}
	for at, until := range f.due {
		if now.Before(until) {
			f.expect(at, until)
		} else {
			f.soil(at)
		}
	}
}

// expect examines a row again at a time when its settling is over.
func (f *findings) expect(at rowKey, until time.Time) {
	if due, there := f.due[at]; !there || until.Before(due) {
		f.due[at] = until
	}
	if f.next.IsZero() || until.Before(f.next) {
		f.next = until
	}
}

// all lists the findings.
func (f *findings) all() []Finding {
	if f.list != nil {
		return f.list
	}
	f.list = make([]Finding, 0, len(f.by))
	for _, list := range f.by {
		f.list = append(f.list, list...)
	}
	slices.SortFunc(f.list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.VCenter, b.VCenter), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Text, b.Text))
	})
	f.about = map[subjectName][]Finding{}
	for i := 0; i < len(f.list); {
		name, end := subjectName{f.list[i].Kind, f.list[i].Name}, i
		for end < len(f.list) && f.list[end].Kind == name.kind && f.list[end].Name == name.name {
			end++
		}
		f.about[name] = f.list[i:end:end]
		i = end
	}
	return f.list
}

// join makes the key of a thing that has a name within a vCenter.
func join(vcenter, name string) string { return vcenter + "/" + name }

// id is a UUID or a name as it is compared.
func id(text string) string { return strings.ToLower(text) }
