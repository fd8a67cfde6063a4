package rest

import "net/http"

// routes lists the operations of tagging. In /rest both forms of those on a single category or tag are known: with its
// identifier in the path or in the body.
func (h *Handler) routes() map[route]operation {
	const (
		categories   = "category"
		tags         = "tag"
		associations = "tag-association"
	)
	m := make(map[route]operation)
	plain := func(service, method string, id bool, run func(*call) (any, error)) {
		m[route{service: service, method: method, id: id}] = operation{run: run, created: method == http.MethodPost}
	}
	action := func(service, name string, id bool, run func(*call) (any, error)) {
		m[route{service, http.MethodPost, name, id}] = operation{run: run}
	}
	either := func(service, name string, run func(*call) (any, error)) {
		action(service, name, true, run)
		action(service, name, false, run)
	}

	plain(categories, http.MethodGet, false, h.categoryList)
	plain(categories, http.MethodPost, false, h.categoryCreate)
	plain(categories, http.MethodGet, true, h.categoryGet)
	plain(categories, http.MethodPatch, true, h.categoryUpdate)
	plain(categories, http.MethodDelete, true, h.categoryDelete)
	action(categories, "list-used-categories", false, h.categoryListUsed)
	either(categories, "add-to-used-by", h.categoryUse(true))
	either(categories, "remove-from-used-by", h.categoryUse(false))
	either(categories, "revoke-propagating-permissions", h.categoryRevoke)

	plain(tags, http.MethodGet, false, h.tagList)
	plain(tags, http.MethodPost, false, h.tagCreate)
	plain(tags, http.MethodGet, true, h.tagGet)
	plain(tags, http.MethodPatch, true, h.tagUpdate)
	plain(tags, http.MethodDelete, true, h.tagDelete)
	action(tags, "list-used-tags", false, h.tagListUsed)
	either(tags, "list-tags-for-category", h.tagListForCategory)
	either(tags, "add-to-used-by", h.tagUse(true))
	either(tags, "remove-from-used-by", h.tagUse(false))
	either(tags, "revoke-propagating-permissions", h.tagRevoke)

	either(associations, "attach", h.attach)
	either(associations, "detach", h.detach)
	either(associations, "list-attached-objects", h.listAttachedObjects)
	either(associations, "attach-tag-to-multiple-objects", h.attachToMany)
	either(associations, "detach-tag-from-multiple-objects", h.detachFromMany)
	action(associations, "attach-multiple-tags-to-object", false, h.attachMany)
	action(associations, "detach-multiple-tags-from-object", false, h.detachMany)
	action(associations, "list-attached-tags", false, h.listAttachedTags)
	action(associations, "list-attachable-tags", false, h.listAttachableTags)
	action(associations, "list-attached-tags-on-objects", false, h.listAttachedTagsOnObjects)
	action(associations, "list-attached-objects-on-tags", false, h.listAttachedObjectsOnTags)
	return m
}
