package rest

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"

func (h *Handler) listAttachedTags(c *call) (any, error) {
	ref, err := c.object()
	if err != nil {
		return nil, err
	}
	if err := h.readable(c.user, ref); err != nil {
		return nil, err
	}
	return h.store.tagsOn(ref), nil
}

func (h *Handler) listAttachableTags(c *call) (any, error) {
	ref, err := c.object()
	if err != nil {
		return nil, err
	}
	if err := h.readable(c.user, ref); err != nil {
		return nil, err
	}
	return h.store.attachable(ref), nil
}

// visible is the objects that the user may see, as on the wire.
func (h *Handler) visible(user string, refs []vc.Ref) []objectID {
	out := make([]objectID, 0, len(refs))
	for _, ref := range refs {
		if h.mayRead(user, ref) {
			out = append(out, wire(ref))
		}
	}
	return out
}

func (h *Handler) listAttachedObjects(c *call) (any, error) {
	id, err := c.ident("tag_id")
	if err != nil {
		return nil, err
	}
	refs, err := h.store.objectsWith(id)
	if err != nil {
		return nil, err
	}
	return h.visible(c.user, refs), nil
}

// tagsOfObject is an object and its tags.
type tagsOfObject struct {
	Object objectID `json:"object_id"`
	Tags   []string `json:"tag_ids"`
}

// listAttachedTagsOnObjects leaves out objects that the user may not see, or that are not there.
func (h *Handler) listAttachedTagsOnObjects(c *call) (any, error) {
	refs, err := c.objects()
	if err != nil {
		return nil, err
	}
	seen := refs[:0]
	for _, ref := range refs {
		if h.readable(c.user, ref) == nil {
			seen = append(seen, ref)
		}
	}
	out := make([]tagsOfObject, len(seen))
	for i, tags := range h.store.tagsOnAll(seen) {
		out[i] = tagsOfObject{wire(seen[i]), tags}
	}
	return out, nil
}

// objectsOfTag is a tag and what it is attached to.
type objectsOfTag struct {
	Tag     string     `json:"tag_id"`
	Objects []objectID `json:"object_ids"`
}

// listAttachedObjectsOnTags leaves out tags that are not there.
func (h *Handler) listAttachedObjectsOnTags(c *call) (any, error) {
	var tags []string
	if err := c.param("tag_ids", &tags); err != nil {
		return nil, err
	}
	out := make([]objectsOfTag, 0, len(tags))
	for _, id := range tags {
		if refs, err := h.store.objectsWith(id); err == nil {
			out = append(out, objectsOfTag{id, h.visible(c.user, refs)})
		}
	}
	return out, nil
}
