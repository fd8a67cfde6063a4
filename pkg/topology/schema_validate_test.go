package topology_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// validator checks values against a JSON schema, of which it knows as much as ours uses. Of anything else it complains.
type validator struct{ root object }

// check returns what is wrong with a value.
func (v validator) check(schema object, value any, at string) (wrong []string) {
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		wrong = append(wrong, v.keyword(keyword, schema, value, at)...)
	}
	return wrong
}

func (v validator) keyword(keyword string, schema object, value any, at string) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, at+": "+fmt.Sprintf(format, args...)) }
	switch want := schema[keyword].(type) {
	case string:
		switch keyword {
		case "description", "title", "$schema":
		case "$ref":
			name, ok := strings.CutPrefix(want, "#/definitions/")
			definition, found := v.root["definitions"].(object)[name].(object)
			if !ok || !found {
				say("the schema refers to %s", want)
			}
			return v.check(definition, value, at)
		case "type":
			if !is(want, value) {
				say("is no %s", want)
			}
		case "pattern":
			if text, ok := value.(string); ok && !regexp.MustCompile(want).MatchString(text) {
				say("does not match %s", want)
			}
		default:
			say("unknown keyword %s", keyword)
		}
	case []any:
		switch keyword {
		case "type":
			if !slices.ContainsFunc(want, func(one any) bool { return is(one.(string), value) }) {
				say("is none of %v", want)
			}
		case "enum":
			if !slices.Contains(want, value) {
				say("is none of %v", want)
			}
		case "anyOf":
			if !slices.ContainsFunc(want, func(one any) bool { return len(v.check(one.(object), value, at)) == 0 }) {
				say("is nothing that can stand here")
			}
		case "required":
			for _, key := range want {
				if fields, ok := value.(object); ok && fields[key.(string)] == nil {
					say("lacks %s", key)
				}
			}
		default:
			say("unknown keyword %s", keyword)
		}
	case float64:
		if n, ok := value.(int); keyword != "minimum" || ok && float64(n) < want {
			say("%s %v", keyword, want)
		}
	case bool:
		if keyword != "additionalProperties" || want {
			say("unknown keyword %s", keyword)
		}
		known, _ := schema["properties"].(object)
		fields, _ := value.(object)
		for key := range fields {
			if known[key] == nil {
				say("has an unknown key %s", key)
			}
		}
	case object:
		return v.inner(keyword, want, value, at)
	}
	return wrong
}

func (v validator) inner(keyword string, schema object, value any, at string) (wrong []string) {
	switch keyword {
	case "definitions":
	case "items":
		list, _ := value.([]any)
		for i, item := range list {
			wrong = append(wrong, v.check(schema, item, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case "properties":
		fields, _ := value.(object)
		for key, field := range fields {
			if one, known := schema[key].(object); known {
				wrong = append(wrong, v.check(one, field, at+"."+key)...)
			}
		}
	default:
		return []string{"unknown keyword " + keyword}
	}
	return wrong
}

func is(kind string, value any) bool {
	switch kind {
	case "integer":
		return reflect.TypeOf(value) == reflect.TypeFor[int]()
	case "number":
		return is("integer", value) || reflect.TypeOf(value) == reflect.TypeFor[float64]()
	case "string":
		return reflect.TypeOf(value) == reflect.TypeFor[string]()
	case "boolean":
		return reflect.TypeOf(value) == reflect.TypeFor[bool]()
	case "array":
		return reflect.TypeOf(value) == reflect.TypeFor[[]any]()
	case "object":
		return reflect.TypeOf(value) == reflect.TypeFor[object]()
	}
	return false
}
