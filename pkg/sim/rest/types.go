package rest

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Cardinalities of a [Category], as on the wire.
const (
	Single   = "SINGLE"   // an object may have one of its tags
	Multiple = "MULTIPLE" // an object may have several
)

// Prefixes of the identifiers of categories and tags. What follows is free; vCenter's are a UUID and ":GLOBAL".
const (
	CategoryPrefix = "urn:vmomi:InventoryServiceCategory:"
	TagPrefix      = "urn:vmomi:InventoryServiceTag:"
)

// Category is a tag category, as on the wire.
type Category struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Cardinality is [Single] or [Multiple].
	Cardinality string `json:"cardinality"`
	// AssociableTypes are the types of object that its tags may be attached to; none means any.
	AssociableTypes []string `json:"associable_types"`
	UsedBy          []string `json:"used_by"`
}

// Tag is a tag, as on the wire.
type Tag struct {
	ID          string   `json:"id"`
	CategoryID  string   `json:"category_id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	UsedBy      []string `json:"used_by"`
}

// Association is a tag on an object.
type Association struct {
	TagID  string `json:"tag_id"`
	Object vc.Ref `json:"object"`
}

// Snapshot is all tags of a vCenter, for saving. Categories and tags are in the order of their making, associations in
// that of tags, then by type and value of the object.
type Snapshot struct {
	Categories   []Category    `json:"categories"`
	Tags         []Tag         `json:"tags"`
	Associations []Association `json:"associations"`
}

// clone copies the lists, which answers encode outside of locks; they are never nil, since JSON knows the difference.
func (c Category) clone() Category {
	c.AssociableTypes = list(c.AssociableTypes)
	c.UsedBy = list(c.UsedBy)
	return c
}

func (t Tag) clone() Tag {
	t.UsedBy = list(t.UsedBy)
	return t
}

func list(s []string) []string { return append(make([]string, 0, len(s)), s...) }

// distinct is the list without repetitions, in order.
func distinct(s []string) []string {
	out := make([]string, 0, len(s))
	for _, v := range s {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
