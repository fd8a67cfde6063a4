package rest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// by returns the user for a message; changes by vcsim have none.
func by(user string) string {
	if user == "" {
		return ""
	}
	return " by " + user
}

// changed adds the event of an attached or detached tag to the vCenter's history and to the log.
func (h *Handler) changed(kind, user, tagID string, ref vc.Ref, cause uint64) {
	category, name, ok := h.store.label(tagID)
	if !ok { // deleted concurrently
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

// gone logs that a tag was deleted, with all its associations.
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

// goneCategory logs that a category was deleted with its tags.
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

// objectKind returns the usual name of a type.
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

// The types of the only events about tags that a vCenter posts: it posts none for created, renamed or deleted categories and
// tags, nor for the objects of a deleted one, according to public lists of its events (lamw/vcenter-event-mapping, vSphere 8.0
// U3).
const (
	eventAttach = "com.vmware.cis.tagging.attach"
	eventDetach = "com.vmware.cis.tagging.detach"
)

// post adds an event of an attached or detached tag to the vCenter's history, with the message and arguments of the examples of
// the VMware Event Broker Appliance: the object has its name there and no reference. Each pair of tag and object gets one event,
// also in calls for several.
func (h *Handler) post(kind, user, tag string, ref vc.Ref) {
	if h.store.lenient {
		return // vcsim posts none
	}
	e := &types.EventEx{EventTypeId: eventAttach, Severity: string(types.EventEventSeverityInfo)}
	e.ObjectType, e.ObjectId = h.root.Type, h.root.Value
	preposition := "to"
	if kind == "detached" {
		e.EventTypeId, preposition = eventDetach, "from"
	}
	user = downLevel(user)
	name := h.watch.name(ref)
	e.FullFormattedMessage = fmt.Sprintf("User %s %s tag %s %s object %s", user, kind, tag, preposition, name)
	e.Arguments = []types.KeyAnyValue{{Key: "Tag", Value: tag}, {Key: "Object", Value: name}, {Key: "User", Value: user}}

	ctx := vc.Fresh(h.opts.Base)
	ctx.Session = &simulator.Session{UserSession: types.UserSession{UserName: user}}
	vc.Post(ctx, e)
}

// downLevel returns the form of users in vCenter's events: VSPHERE.LOCAL\Administrator.
func downLevel(user string) string {
	name, domain, ok := strings.Cut(user, "@")
	if !ok {
		return user
	}
	return strings.ToUpper(domain) + `\` + name
}

// causes are the causes of changes of the tags of objects.
type causes struct {
	mu sync.Mutex
	by map[vc.Ref]uint64
}

// Causing makes seq the cause of what happens to the tags of the object until release is called. The latest call counts.
func (h *Handler) Causing(ref vc.Ref, seq uint64) (release func()) {
	c := &h.causes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = make(map[vc.Ref]uint64)
	}
	c.by[ref] = seq
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.by[ref] == seq {
			delete(c.by, ref)
		}
	}
}

func (c *causes) of(ref vc.Ref) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[ref]
}
