package rest

func (h *Handler) tagList(*call) (any, error) { return h.store.listTags(nil), nil }

func (h *Handler) tagCreate(c *call) (any, error) {
	var spec struct {
		Tag
		ID string `json:"tag_id"` // since vSphere 6.7
	}
	if err := c.spec("create_spec", &spec, "name", "description", "category_id"); err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	return h.store.createTag(Tag{
		ID:          spec.ID,
		CategoryID:  spec.CategoryID,
		Name:        spec.Name,
		Description: spec.Description,
	})
}

func (h *Handler) tagGet(c *call) (any, error) { return h.store.tag(c.id) }

func (h *Handler) tagUpdate(c *call) (any, error) {
	var u tagUpdate
	if err := c.spec("update_spec", &u); err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	return nil, h.store.updateTag(c.id, u)
}

func (h *Handler) tagDelete(c *call) (any, error) {
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	d, err := h.store.deleteTag(c.id)
	if err == nil {
		h.gone(c.user, d, 0)
	}
	return nil, err
}

func (h *Handler) tagListUsed(c *call) (any, error) {
	var entity string
	if err := c.param("used_by_entity", &entity); err != nil {
		return nil, err
	}
	return h.store.listTags(&entity), nil
}

func (h *Handler) tagListForCategory(c *call) (any, error) {
	id, err := c.ident("category_id")
	if err != nil {
		return nil, err
	}
	return h.store.tagsOfCategory(id)
}

func (h *Handler) tagUse(uses bool) func(*call) (any, error) {
	return func(c *call) (any, error) { return nil, h.use(c, "tag_id", uses, h.store.useTag) }
}

// tagRevoke has nothing to revoke: there are no permissions on tags.
func (h *Handler) tagRevoke(c *call) (any, error) {
	id, err := c.ident("tag_id")
	if err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	_, err = h.store.tag(id)
	return nil, err
}
