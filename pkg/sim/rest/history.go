package rest

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// The types of the only events about tags that a vCenter posts; nothing is posted of categories and tags that are made,
// renamed or deleted, nor of what a deleted one was attached to, as far as public lists of its events tell
// (lamw/vcenter-event-mapping, vSphere 8.0 U3).
const (
	eventAttach = "com.vmware.cis.tagging.attach"
	eventDetach = "com.vmware.cis.tagging.detach"
)

// post adds to the vCenter's event history that a tag was attached or detached, in the words and with the arguments seen
// in the examples of the VMware Event Broker Appliance: the object has its name there and no reference. One event is
// posted for each pair of tag and object, also for the calls for several.
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

// downLevel is the form in which vCenter writes users in events: VSPHERE.LOCAL\Administrator.
func downLevel(user string) string {
	name, domain, ok := strings.Cut(user, "@")
	if !ok {
		return user
	}
	return strings.ToUpper(domain) + `\` + name
}
