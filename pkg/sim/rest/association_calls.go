package rest

import (
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// readable fails for an object that the user may not see. vCenter does not tell it from one that is not there
// (govmomi #2211).
func (h *Handler) readable(user string, ref vc.Ref) error {
	if !h.exists(ref) || !h.mayRead(user, ref) {
		return forbidden()
	}
	return nil
}

func (h *Handler) taggable(user string, ref vc.Ref) error {
	if err := h.readable(user, ref); err != nil {
		return err
	}
	if !h.mayWrite(user, ref) {
		return forbidden()
	}
	return nil
}

// link attaches a tag to an object that is there.
func (h *Handler) link(user, id string, ref vc.Ref) error {
	changed, err := h.store.attach(id, ref)
	if !changed {
		return err
	}
	if !h.exists(ref) { // gone since we looked, perhaps before it had the tag to lose
		h.store.drop(ref)
		return forbidden()
	}
	h.changed("attached", user, id, ref, 0)
	return nil
}

func (h *Handler) unlink(user, id string, ref vc.Ref) error {
	changed, err := h.store.detach(id, ref)
	if changed {
		h.changed("detached", user, id, ref, 0)
	}
	return err
}

// single attaches or detaches one tag and one object.
func (h *Handler) single(c *call, do func(user, id string, ref vc.Ref) error) (any, error) {
	id, err := c.ident("tag_id")
	if err != nil {
		return nil, err
	}
	ref, err := c.object()
	if err != nil {
		return nil, err
	}
	if _, err := h.store.tag(id); err != nil {
		return nil, err
	}
	if err := h.taggable(c.user, ref); err != nil {
		return nil, err
	}
	return nil, do(c.user, id, ref)
}

func (h *Handler) attach(c *call) (any, error) { return h.single(c, h.link) }
func (h *Handler) detach(c *call) (any, error) { return h.single(c, h.unlink) }

// batch is the answer of a call for several: what failed does not keep the rest from being done.
type batch struct {
	Success bool      `json:"success"`
	Errors  []message `json:"error_messages"`
}

func newBatch() *batch { return &batch{Success: true, Errors: []message{}} }

func (b *batch) add(err error, m ...message) {
	if err == nil {
		return
	}
	if len(m) == 0 {
		m = faultOf(err).messages
	}
	b.Success = false
	b.Errors = append(b.Errors, m...)
}

// step does one step of a batch.
func (h *Handler) step(b *batch, user, id string, ref vc.Ref, do func(user, id string, ref vc.Ref) error) {
	err := do(user, id, ref)
	if e, ok := errors.AsType[*ineligible](err); ok {
		b.add(err, e.batch(id, h.urn(ref)))
		return
	}
	b.add(err)
}

// urn names an object in messages.
func (h *Handler) urn(ref vc.Ref) string {
	return "urn:vmomi:" + ref.Type + ":" + ref.Value + ":" + h.instance
}

// manyTags does it for one object and many tags.
func (h *Handler) manyTags(c *call, do func(user, id string, ref vc.Ref) error) (any, error) {
	ref, err := c.object()
	if err != nil {
		return nil, err
	}
	var tags []string
	if err := c.param("tag_ids", &tags); err != nil {
		return nil, err
	}
	if err := h.taggable(c.user, ref); err != nil {
		return nil, err
	}
	b := newBatch()
	for _, id := range tags {
		h.step(b, c.user, id, ref, do)
	}
	return b, nil
}

func (h *Handler) attachMany(c *call) (any, error) { return h.manyTags(c, h.link) }
func (h *Handler) detachMany(c *call) (any, error) { return h.manyTags(c, h.unlink) }

// manyObjects does it for one tag and many objects.
func (h *Handler) manyObjects(c *call, do func(user, id string, ref vc.Ref) error) (any, error) {
	id, err := c.ident("tag_id")
	if err != nil {
		return nil, err
	}
	refs, err := c.objects()
	if err != nil {
		return nil, err
	}
	if _, err := h.store.tag(id); err != nil {
		return nil, err
	}
	b := newBatch()
	for _, ref := range refs {
		if err := h.taggable(c.user, ref); err != nil {
			b.add(err)
			continue
		}
		h.step(b, c.user, id, ref, do)
	}
	return b, nil
}

func (h *Handler) attachToMany(c *call) (any, error)   { return h.manyObjects(c, h.link) }
func (h *Handler) detachFromMany(c *call) (any, error) { return h.manyObjects(c, h.unlink) }
