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
	guest bool // in a guest cluster no label comes from a tag

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

func newFindings(w *world.World, speed pace.Speed, guest bool) *findings {
	return &findings{
		world: w, speed: speed, guest: guest, vms: index{}, names: index{}, uuids: index{}, nodes: index{}, attached: index{}, attachments: index{}, volumes: index{},
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

// index finds keys of rows by something that several may have in common. They are sorted.
type index map[string][]string

func (x index) add(by, key string) {
	if i, there := slices.BinarySearch(x[by], key); by != "" && !there {
		x[by] = slices.Insert(x[by], i, key)
	}
}

func (x index) remove(by, key string) {
	i, there := slices.BinarySearch(x[by], key)
	if !there {
		return
	}
	if x[by] = slices.Delete(x[by], i, i+1); len(x[by]) == 0 {
		delete(x, by)
	}
}

// put adds, or removes, as there says.
func (x index) put(there bool, by, key string) {
	if there {
		x.add(by, key)
	} else {
		x.remove(by, key)
	}
}

// changed says that a row is not as this one was, or is as this one is now. It is called for both.
func (f *findings) changed(row world.Row) {
	is, there := f.world.Row(row.Kind, row.Key)
	switch v := row.Value.(type) {
	case api.VM:
		now, _ := is.Value.(api.VM)
		name := join(v.VCenter, v.Name)
		f.vms.put(there && name == join(now.VCenter, now.Name), name, row.Key)
		f.touch(world.Node, f.nodes[name])
		for _, name := range nodeNames(v) {
			f.names.put(there && slices.Contains(nodeNames(now), name), name, row.Key)
			f.soil(rowKey{world.Node, name})
		}
		// All that have its UUID are concerned, before and after.
		f.touch(world.VM, f.uuids[id(v.UUID)])
		f.uuids.put(there && id(now.UUID) == id(v.UUID), id(v.UUID), row.Key)
		f.touch(world.VM, f.uuids[id(v.UUID)])
		f.soil(rowKey{world.VM, row.Key})
	case api.Node:
		now, _ := is.Value.(api.Node)
		name := join(v.VCenter, v.VM)
		f.nodes.put(there && v.VM != "" && name == join(now.VCenter, now.VM), name, row.Key)
		f.soil(rowKey{world.Node, row.Key})
		for _, key := range f.attached[v.Name] {
			at, _ := f.world.Row(world.Attachment, key)
			a, _ := at.Value.(api.Attachment)
			f.soil(rowKey{world.Volume, a.Volume})
		}
	case api.Volume:
		for _, name := range row.Names() {
			f.volumes.put(there && slices.Contains(is.Names(), name), name, row.Key)
		}
		f.soil(rowKey{world.Volume, row.Key})
	case api.Attachment:
		now, _ := is.Value.(api.Attachment)
		f.attachments.put(there && now.Volume == v.Volume, v.Volume, row.Key)
		f.attached.put(there && now.Node == v.Node, v.Node, row.Key)
		f.soil(rowKey{world.Volume, v.Volume})
	case api.Host:
		for _, vm := range f.world.Rows(world.VM) {
			if on := vm.Value.(api.VM); on.VCenter == v.VCenter && on.Host == v.Name {
				f.touch(world.Node, f.nodes[join(on.VCenter, on.Name)])
			}
		}
	case api.Lease:
		f.leased(v, there)
	}
}

// nodeNames are the names that the node of a VM may have.
func nodeNames(vm api.VM) []string { return []string{id(vm.Name), id(vm.Hostname)} }

// touch marks rows for examination.
func (f *findings) touch(kind world.Kind, keys []string) {
	for _, key := range keys {
		f.soil(rowKey{kind, key})
	}
}

// leased keeps what is broken on purpose now. It is a reason for nodes that are not ready.
func (f *findings) leased(l api.Lease, there bool) {
	_, was := f.leases[l.ID]
	if now, _ := f.world.Row(world.Lease, l.ID); there {
		l, _ = now.Value.(api.Lease)
	}
	is := there && (l.State == "applying" || l.State == "active" || l.State == "healing")
	if delete(f.leases, l.ID); is {
		f.leases[l.ID] = l.Targets
	}
	if !was && !is {
		return
	}
	for _, row := range f.world.Rows(world.Node) {
		if n := row.Value.(api.Node); n.Ready != "True" {
			f.soil(rowKey{world.Node, row.Key})
		}
	}
}
