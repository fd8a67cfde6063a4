package volumes

import (
	"cmp"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

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
