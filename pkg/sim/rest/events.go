package rest

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// by says who did something; changes that vcsim itself makes are nobody's.
func by(user string) string {
	if user == "" {
		return ""
	}
	return " by " + user
}

// changed tells the vCenter's event history and the log that a tag was attached or detached.
func (h *Handler) changed(kind, user, tagID string, ref vc.Ref, cause uint64) {
	category, name, ok := h.store.label(tagID)
	if !ok { // deleted meanwhile
		category, name = "?", tagID
	}
	h.post(kind, user, name, ref)
	if h.opts.Events != nil {
		h.note(kind, user, category+"/"+name, ref, cause)
	}
}

func (h *Handler) note(kind, user, label string, ref vc.Ref, cause uint64) {
	if cause == 0 {
		cause = h.causes.of(ref)
	}
	h.opts.Events.Append(event.Event{
		Plane:   event.PlaneVSphere,
		Kind:    "tag." + kind,
		Object:  event.Object{Kind: objectKind(ref), VCenter: h.opts.VCenter, Name: h.watch.name(ref)},
		Message: fmt.Sprintf("tag %s %s%s", label, kind, by(user)),
		Cause:   cause,
	})
}

// gone tells the log that a tag was deleted, and with it detached from everything.
func (h *Handler) gone(user string, d deleted, cause uint64) {
	if h.opts.Events == nil {
		return
	}
	seq := h.opts.Events.Append(event.Event{
		Plane:   event.PlaneVSphere,
		Kind:    "tag.deleted",
		Object:  event.Object{Kind: "Tag", VCenter: h.opts.VCenter, Name: d.label},
		Message: fmt.Sprintf("tag %s deleted%s; it was on %d objects", d.label, by(user), len(d.objects)),
		Cause:   cause,
	})
	for _, ref := range d.objects {
		h.note("detached", "", d.label, ref, seq)
	}
}

// goneCategory tells the log that a category was deleted with its tags.
func (h *Handler) goneCategory(user, name string, tags []deleted) {
	if h.opts.Events == nil {
		return
	}
	seq := h.opts.Events.Append(event.Event{
		Plane:   event.PlaneVSphere,
		Kind:    "tag-category.deleted",
		Object:  event.Object{Kind: "TagCategory", VCenter: h.opts.VCenter, Name: name},
		Message: fmt.Sprintf("tag category %s deleted%s with %d tags", name, by(user), len(tags)),
	})
	for _, d := range tags {
		h.gone("", d, seq)
	}
}

// objectKind is the field's name for a type of object.
func objectKind(ref vc.Ref) string {
	switch ref.Type {
	case "VirtualMachine":
		return "VM"
	case "HostSystem":
		return "Host"
	case "ClusterComputeResource", "ComputeResource":
		return "Cluster"
	}
	return ref.Type
}
