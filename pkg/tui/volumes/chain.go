package volumes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// plane is the plane of a hop.
type plane int

const (
	kubernetes plane = iota
	vsphere
)

// hop is one object on the path from a claim to a pod.
type hop struct {
	plane plane
	kind  string
	name  string
	state glance.Mark
	// more is additional text.
	more string
	// stuck means that the volume waits for this hop.
	stuck   bool
	changed bool
}

// csiDriver is the driver of CNS volumes.
const csiDriver = "csi.vsphere.vmware.com"

// way is what is known of a volume besides its row.
type way struct {
	api.Volume
	s           *fold.State
	attachments []api.Attachment
	vm          *api.VM
	disk        *api.Disk
}

// chain returns the path of a volume, in the order of its hops; there may be several pods and attachments.
func chain(s *fold.State, v api.Volume) []hop {
	w := &way{Volume: v, s: s}
	for _, row := range s.World().Rows(world.Attachment) {
		if a, _ := row.Value.(api.Attachment); a.Volume == v.Name {
			w.attachments = append(w.attachments, a)
		}
	}
	w.findDisk()
	hops := []hop{w.claim(), w.persistent(), w.cns(), w.file(), w.machine()}
	hops = append(hops, w.nodes()...)
	hops = append(hops, w.pods()...)
	if at := w.stuckAt(); v.Waits != "" {
		i := slices.IndexFunc(hops, func(h hop) bool { return h.kind == at && (at != "Node" || h.name == v.Node) })
		if i < 0 {
			i = slices.IndexFunc(hops, func(h hop) bool { return h.kind == at })
		}
		hops[i].stuck = true // each kind has at least one
	}
	return hops
}

// findDisk returns the VM that has the disk, according to the volume's row and the VMs' rows.
func (w *way) findDisk() {
	if w.Handle == "" {
		return
	}
	for _, row := range w.s.World().Rows(world.VM) {
		v, _ := row.Value.(api.VM)
		if w.VCenter != "" && v.VCenter != w.VCenter {
			continue
		}
		disk := slices.IndexFunc(v.Disks, func(d api.Disk) bool { return d.Volume == w.Handle })
		if found := disk >= 0; found || w.VM != "" && v.Name == w.VM && w.vm == nil {
			vm := v // keeps the others off the heap
			if w.vm = &vm; found {
				w.disk = &vm.Disks[disk]
				return
			}
		}
	}
}

// stuckAt returns the kind of the hop at which a volume waits.
func (w *way) stuckAt() string {
	switch w.State {
	case api.VolumePending:
		return "PV"
	case api.VolumeReleased, api.VolumeOrphaned:
		return "PV"
	case api.VolumeLost:
		if w.bound() {
			return "CNS volume"
		}
		return "PV"
	case api.VolumeDetached:
		return "Pod"
	case api.VolumeAttached:
		if strings.Contains(w.Waits, "to mount it") {
			return "Pod"
		}
	case api.VolumeInUse:
		if w.VM == "" && w.Driver == csiDriver {
			return "VM"
		}
	}
	return "Node"
}

// bound reports whether a PersistentVolume exists: a claim without one has its own name, an orphan its id.
func (w *way) bound() bool { return w.Name != w.Claim && w.State != api.VolumeOrphaned }

func (w *way) rowChanged(fields ...string) bool {
	return w.s.ChangedField(world.Volume, w.Name, fields...)
}

func (w *way) claim() hop {
	h := hop{kind: "PVC", name: w.Claim, changed: w.rowChanged("claim")}
	switch {
	case w.Claim == "" && w.State == api.VolumeReleased:
		h.state = mark(theme.GlyphOff, "deleted", glance.Plain)
	case w.Claim == "":
		h.state = mark(theme.GlyphOff, "none", glance.Plain)
	case w.bound():
		h.state = mark(theme.GlyphGood, "Bound", glance.Good)
	default:
		h.state = phase(w.Phase)
	}
	if w.StorageClass != "" {
		h.more = "class " + w.StorageClass
	}
	return h
}

func (w *way) persistent() hop {
	h := hop{kind: "PV", changed: w.rowChanged("phase", "name")}
	if !w.bound() {
		h.state = mark(theme.GlyphOff, "none", glance.Plain)
		if w.State == api.VolumePending {
			h.state.Word = "not yet"
		}
		return h
	}
	h.name, h.state = w.Name, phase(w.Phase)
	return h
}

// phase returns the phase of a claim or a PersistentVolume.
func phase(p string) glance.Mark {
	switch p {
	case "Bound":
		return mark(theme.GlyphGood, p, glance.Good)
	case "Available", "Released":
		return mark(theme.GlyphOff, p, glance.Plain)
	case "Failed", "Lost":
		return mark(theme.GlyphBad, p, glance.Bad)
	}
	return mark(theme.GlyphWarn, cmp.Or(text.Clean(p), "no phase"), glance.Warn)
}

func (w *way) cns() hop {
	h := hop{plane: vsphere, kind: "CNS volume", name: w.Handle, changed: w.rowChanged("handle", "vcenter")}
	switch {
	case w.Driver != csiDriver && w.Driver != "":
		h.state, h.more = mark(theme.GlyphOff, "none", glance.Plain), "volume of "+w.Driver
	case w.Handle == "":
		h.state = mark(theme.GlyphOff, "not yet", glance.Plain)
	case w.State == api.VolumeLost:
		h.state = mark(theme.GlyphBad, "lost", glance.Bad)
	case w.VCenter == "":
		h.state = mark(theme.GlyphUnknown, "unknown", glance.Warn)
	default:
		h.state, h.more = mark(theme.GlyphGood, "exists", glance.Good), "vCenter "+w.VCenter
	}
	return h
}

func (w *way) file() hop {
	h := hop{plane: vsphere, kind: "VMDK", changed: w.rowChanged("datastore")}
	switch {
	case w.Datastore == "":
		h.state = mark(theme.GlyphOff, "none known", glance.Plain)
		return h
	case w.disk != nil:
		h.name = w.disk.File
	}
	h.name = cmp.Or(h.name, "["+w.Datastore+"]")
	h.state = mark(theme.GlyphGood, "on datastore "+w.Datastore, glance.Good)
	return h
}

func (w *way) machine() hop {
	h := hop{plane: vsphere, kind: "VM", name: w.VM, changed: w.rowChanged("vm")}
	if w.vm != nil && w.disk != nil {
		h.name = w.vm.Name
	}
	switch {
	case h.name == "" && w.Attached && w.Driver == csiDriver:
		h.state = mark(theme.GlyphBad, "on no VM", glance.Bad)
	case h.name == "":
		h.state = mark(theme.GlyphOff, "on no VM", glance.Plain)
	case w.vm == nil:
		h.state = mark(theme.GlyphUnknown, "on it", glance.Warn)
	default:
		h.state = glance.Power(*w.vm)
		if w.disk != nil {
			h.more = fmt.Sprintf("scsi %d:%d", w.disk.Controller, w.disk.Unit)
		}
	}
	return h
}

// nodes returns the VolumeAttachments with their nodes.
func (w *way) nodes() (hops []hop) {
	ready := func(name string) string {
		row, _ := w.s.World().Row(world.Node, name)
		n, _ := row.Value.(api.Node)
		if !n.Registered {
			return "node is gone"
		}
		words := "node " + glance.Node(n).String()
		if glance.OutOfService(n.Taints) {
			words += ", out of service"
		}
		return words
	}
	for _, a := range w.attachments {
		h := hop{kind: "Node", name: a.Node, more: ready(a.Node)}
		if _, ok := w.s.Changed(world.Attachment, a.Name); ok {
			h.changed = true
		}
		switch {
		case a.Deleting:
			h.state = mark(theme.GlyphWarn, "detaching", glance.Warn)
		case a.Attached:
			h.state = mark(theme.GlyphGood, "attached", glance.Good)
		default:
			h.state = mark(theme.GlyphWarn, "attaching", glance.Warn)
		}
		if a.Error != "" {
			h.state.Glyph, h.state.Level = theme.GlyphBad, glance.Bad
			h.more += ": " + a.Error
		}
		hops = append(hops, h)
	}
	if len(hops) == 0 {
		h := hop{kind: "Node", name: w.Node, state: mark(theme.GlyphOff, "on none", glance.Plain)}
		if w.Node != "" {
			h.state, h.more = mark(theme.GlyphWarn, "wanted", glance.Warn), "no VolumeAttachment, "+ready(w.Node)
		}
		hops = append(hops, h)
	}
	return hops
}

// pods returns the pods that use the claim.
func (w *way) pods() (hops []hop) {
	for _, p := range w.Pods {
		h := hop{kind: "Pod", name: p}
		switch kind, node := w.podEvent(p); {
		case kind == "pod.terminating":
			h.state = mark(theme.GlyphWarn, "terminating", glance.Warn)
		case kind == "pod.running" || w.State == api.VolumeInUse && kind == "":
			h.state = mark(theme.GlyphGood, "running", glance.Good)
		case kind == "pod.scheduled":
			h.state, h.more = mark(theme.GlyphWarn, "scheduled", glance.Warn), node
		default:
			h.state = mark(theme.GlyphWarn, "waits", glance.Warn)
		}
		hops = append(hops, h)
	}
	if len(hops) == 0 {
		hops = append(hops, hop{kind: "Pod", state: mark(theme.GlyphOff, "none", glance.Plain)})
	}
	return hops
}

func mark(glyph, word string, level glance.Level) glance.Mark {
	return glance.Mark{Glyph: glyph, Word: word, Level: level}
}

// podEvent returns the newest event about the progress of a pod.
func (w *way) podEvent(pod string) (kind, message string) {
	e, ok := newest(w.s, func(e event.Event) bool {
		switch e.Kind {
		case "pod.created", "pod.scheduled", "pod.running", "pod.terminating":
			return e.Object.Kind == "Pod" && e.Object.Name == pod
		}
		return false
	})
	if !ok {
		return "", ""
	}
	return e.Kind, e.Message
}

// farBack is the number of events that are searched for the newest about a volume.
const farBack = 20000

// newest returns the newest event that f accepts.
func newest(s *fold.State, f func(event.Event) bool) (event.Event, bool) {
	events := s.World().Events()
	for i := len(events) - 1; i >= max(0, len(events)-farBack); i-- {
		if f(events[i]) {
			return events[i], true
		}
	}
	return event.Event{}, false
}

// lastEvent returns the newest event about a volume, its claim, its attachments or its pods.
func lastEvent(s *fold.State, v api.Volume) (event.Event, bool) {
	names := map[event.Object]bool{}
	add := func(kind, name string) {
		if name != "" {
			names[event.Object{Kind: kind, Name: name}] = true
		}
	}
	for _, name := range []string{v.Name, v.Handle, v.Claim} {
		add("Volume", name)
		add("PersistentVolume", name)
	}
	add("PersistentVolumeClaim", v.Claim)
	for _, p := range v.Pods {
		add("Pod", p)
	}
	attachment := v.Name + " at " // followed by the node
	for _, a := range world.Values[api.Attachment](s.World(), world.Attachment) {
		if a.Volume == v.Name {
			add("VolumeAttachment", a.Name)
		}
	}
	return newest(s, func(e event.Event) bool {
		if o := e.Object; v.VCenter != "" && o.VCenter != "" && o.VCenter != v.VCenter {
			return false
		}
		return names[event.Object{Kind: e.Object.Kind, Name: e.Object.Name}] ||
			e.Object.Kind == "VolumeAttachment" && strings.HasPrefix(e.Object.Name, attachment)
	})
}
