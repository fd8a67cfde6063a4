package nsx

import (
	"encoding/json"
	"maps"
	"slices"
)

// Object is a policy object, or a part of one, as JSON: values are string, bool, json.Number, []any, and map[string]any.
// Values that a caller sets may have any type that JSON can have.
type Object map[string]any

// Names of fields that all objects have.
const (
	FieldID       = "id"
	FieldName     = "display_name"
	FieldPath     = "path"
	FieldRevision = "_revision"
	FieldTags     = "tags"
	FieldType     = "resource_type"
)

// Tag is a tag of an object.
type Tag struct {
	Scope string `json:"scope"`
	Tag   string `json:"tag"`
}

// ID returns the identifier, the last element of the path.
func (o Object) ID() string { return o.Text(FieldID) }

// Path returns the policy path, "/infra/lb-pools/one".
func (o Object) Path() string { return o.Text(FieldPath) }

// Text returns the text in a field, "" for none.
func (o Object) Text(field string) string {
	s, _ := o[field].(string)
	return s
}

// Number returns the whole number in a field, 0 for none.
func (o Object) Number(field string) int64 {
	switch n := o[field].(type) {
	case json.Number:
		i, _ := n.Int64()
		return i
	case int64:
		return n
	}
	return 0
}

// Texts returns the texts in a list, nil for none.
func (o Object) Texts(field string) []string {
	switch list := o[field].(type) {
	case []string:
		return list
	case []any:
		var all []string
		for _, v := range list {
			if s, ok := v.(string); ok {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}

// Objects returns the objects in a list, nil for none.
func (o Object) Objects(field string) []Object {
	switch list := o[field].(type) {
	case []Object:
		return list
	case []any:
		var all []Object
		for _, v := range list {
			if m, ok := v.(map[string]any); ok {
				all = append(all, m)
			}
		}
		return all
	}
	return nil
}

// Tags returns the tags.
func (o Object) Tags() []Tag {
	if tags, ok := o[FieldTags].([]Tag); ok {
		return tags
	}
	var all []Tag
	for _, t := range o.Objects(FieldTags) {
		all = append(all, Tag{Scope: t.Text("scope"), Tag: t.Text("tag")})
	}
	return all
}

// Tag returns the tag of a scope, "" for none.
func (o Object) Tag(scope string) string {
	for _, t := range o.Tags() {
		if t.Scope == scope {
			return t.Tag
		}
	}
	return ""
}

// Tagged reports whether the object has all these tags.
func (o Object) Tagged(tags ...Tag) bool {
	has := o.Tags()
	return !slices.ContainsFunc(tags, func(t Tag) bool { return !slices.Contains(has, t) })
}

// Clone returns a copy. The values of its fields are shared: replace them, do not change them.
func (o Object) Clone() Object { return maps.Clone(o) }
