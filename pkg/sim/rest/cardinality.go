package rest

// SetCardinality changes how many tags of the category an object may have, to [Single] or [Multiple], and returns what it
// was. A vCenter lets its clients only allow more; for a way back there is this. Objects that have several keep them.
func (h *Handler) SetCardinality(id, cardinality string) (was string, err error) {
	if cardinality != Single && cardinality != Multiple {
		return "", invalid("Invalid cardinality: %q", cardinality)
	}
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	c := h.store.categories[id]
	if c == nil {
		return "", missing(id)
	}
	was, c.Cardinality = c.Cardinality, cardinality
	return was, nil
}
