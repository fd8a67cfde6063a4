package rest

import (
	"errors"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// disk is what vcsim calls first-class disks among tagged objects.
const disk = "fcd"

// AttachedObjects lists what a tag is attached to. With the methods that follow, it is what vcsim asks of its tag manager
// for calls of SOAP that have to do with tags; vcsim may hold locks of objects.
func (h *Handler) AttachedObjects(tagID string) ([]vc.Ref, types.BaseMethodFault) {
	refs, err := h.store.objectsWith(tagID)
	return refs, methodFault(err)
}

// AttachedTags lists the IDs of the tags on an object.
func (h *Handler) AttachedTags(ref vc.Ref) ([]string, types.BaseMethodFault) { return h.Tags(ref), nil }

// AttachTag attaches a tag. The object may be about to be made, so it does not matter whether it is there.
func (h *Handler) AttachTag(ref vc.Ref, tagID string) types.BaseMethodFault {
	ref = plain(ref)
	changed, err := h.store.attach(tagID, ref)
	if changed {
		h.changed("attached", "", tagID, ref, 0)
	}
	return methodFault(err)
}

// DetachTag detaches a tag.
func (h *Handler) DetachTag(ref vc.Ref, tagID string) types.BaseMethodFault {
	return methodFault(h.unlink("", tagID, plain(ref)))
}

// GetTagByCategoryAndName returns the ID of a tag.
func (h *Handler) GetTagByCategoryAndName(category, name string) (string, types.BaseMethodFault) {
	id, ok := h.store.find(category, name)
	if !ok {
		return "", new(types.NotFound)
	}
	return id, nil
}

// GetTagCategoryAndName returns the names of a tag's category and of itself.
func (h *Handler) GetTagCategoryAndName(tagID string) (category, name string, fault types.BaseMethodFault) {
	category, name, ok := h.store.label(tagID)
	if !ok {
		return "", "", new(types.NotFound)
	}
	return category, name, nil
}

// methodFault is the error as SOAP tells it.
func methodFault(err error) types.BaseMethodFault {
	var f *fault
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f) && f.kind == notFound:
		return new(types.NotFound)
	}
	return &types.InvalidArgument{InvalidProperty: "tag"}
}
