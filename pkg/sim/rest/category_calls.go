package rest

// writable fails for a user who may not change categories and tags.
func (h *Handler) writable(user string) error {
	if !h.opts.MayWrite(user, h.root) {
		return forbidden()
	}
	return nil
}

func (h *Handler) categoryList(*call) (any, error) { return h.store.listCategories(nil), nil }

func (h *Handler) categoryCreate(c *call) (any, error) {
	var spec struct {
		Category
		ID string `json:"category_id"` // since vSphere 6.7
	}
	if err := c.spec("create_spec", &spec, "name", "description", "cardinality", "associable_types"); err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	return h.store.createCategory(Category{
		ID:              spec.ID,
		Name:            spec.Name,
		Description:     spec.Description,
		Cardinality:     spec.Cardinality,
		AssociableTypes: spec.AssociableTypes,
	})
}

func (h *Handler) categoryGet(c *call) (any, error) { return h.store.category(c.id) }

func (h *Handler) categoryUpdate(c *call) (any, error) {
	var u categoryUpdate
	if err := c.spec("update_spec", &u); err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	return nil, h.store.updateCategory(c.id, u)
}

func (h *Handler) categoryDelete(c *call) (any, error) {
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	name, tags, err := h.store.deleteCategory(c.id)
	if err == nil {
		h.goneCategory(c.user, name, tags)
	}
	return nil, err
}

func (h *Handler) categoryListUsed(c *call) (any, error) {
	var entity string
	if err := c.param("used_by_entity", &entity); err != nil {
		return nil, err
	}
	return h.store.listCategories(&entity), nil
}

func (h *Handler) categoryUse(uses bool) func(*call) (any, error) {
	return func(c *call) (any, error) { return nil, h.use(c, "category_id", uses, h.store.useCategory) }
}

// use notes in a category or tag that an entity uses it, or that it no longer does.
func (h *Handler) use(c *call, param string, uses bool, note func(id, entity string, uses bool) error) error {
	id, err := c.ident(param)
	if err != nil {
		return err
	}
	var entity string
	if err := c.param("used_by_entity", &entity); err != nil {
		return err
	}
	if err := h.writable(c.user); err != nil {
		return err
	}
	return note(id, entity, uses)
}

// categoryRevoke has nothing to revoke: there are no permissions on categories.
func (h *Handler) categoryRevoke(c *call) (any, error) {
	id, err := c.ident("category_id")
	if err != nil {
		return nil, err
	}
	if err := h.writable(c.user); err != nil {
		return nil, err
	}
	_, err = h.store.category(id)
	return nil, err
}
