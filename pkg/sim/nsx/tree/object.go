package tree

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// Object is a policy object, or a part of one, as JSON: the values are string, bool, int64, []any and Object.
type Object map[string]any

// text returns the text in a field, "" for none.
func (o Object) text(field string) string {
	s, _ := o[field].(string)
	return s
}

// clone returns a deep copy.
func (o Object) clone() Object { return cloneValue(o).(Object) }

func cloneValue(v any) any {
	switch v := v.(type) {
	case Object:
		c := maps.Clone(v)
		for key, value := range c {
			c[key] = cloneValue(value)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, value := range v {
			c[i] = cloneValue(value)
		}
		return c
	}
	return v
}

// Error is an answer of NSX that refuses a call.
type Error struct {
	// Status is that of HTTP.
	Status int
	// Code and Module are what NSX has for the error.
	Code    int
	Module  string
	Message string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Modules of NSX that refuse calls.
const (
	policy = "policy"
	common = "common-services"
)

func missing(path string) error {
	return &Error{http.StatusNotFound, 600, common, fmt.Sprintf("The requested object : %s could not be found. Object identifiers are case sensitive.", path)}
}

func badPath(path string) error {
	return &Error{http.StatusBadRequest, 500012, policy, fmt.Sprintf("The path=[%s] is invalid", path)}
}

func stale(path string, has, given any) error {
	return &Error{http.StatusPreconditionFailed, 604, common, fmt.Sprintf(
		"The object %s has revision %v, and the request has %v. Fetch the latest copy of the object and retry the request.", path, has, given)}
}

func inUse(path string, by []string) error {
	return &Error{http.StatusBadRequest, 500030, policy, fmt.Sprintf(
		"The object path=[%s] cannot be deleted as either it has children or it is being referenced by other objects path=[%s].", path, strings.Join(by, ","))}
}

func purging(path string) error {
	return &Error{http.StatusBadRequest, 500045, policy, fmt.Sprintf(
		"The object path=[%s] is already marked for deletion. Use another path, or wait until it is purged and retry.", path)}
}

func systemOwned(path string) error {
	return &Error{http.StatusForbidden, 289, common, fmt.Sprintf("The object %s is owned by the system and cannot be changed.", path)}
}

func invalid(problems []string) error {
	return &Error{http.StatusBadRequest, 255, common, "Field level validation errors: {" + strings.Join(problems, "; ") + "}"}
}
