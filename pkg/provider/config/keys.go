package config

import (
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// checkKeys notes every key below n that t has no field for, and every key that stands twice.
func checkKeys(n *yaml.Node, t reflect.Type, path string, p *problems) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return // a wrong type is for the decoder to tell
	}
	switch t.Kind() {
	case reflect.Map:
		for i := 0; i+1 < len(n.Content); i += 2 {
			checkKeys(n.Content[i+1], t.Elem(), join(path, n.Content[i].Value), p)
		}
	case reflect.Struct:
		fields := map[string]reflect.Type{}
		for i := range t.NumField() {
			fields[t.Field(i).Tag.Get("yaml")] = t.Field(i).Type
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			ft, ok := fields[key.Value]
			if !ok {
				p.add(key.Line, "%s: unknown key%s", join(path, key.Value), unknownHint(key.Value, fields))
				continue
			}
			checkKeys(n.Content[i+1], ft, join(path, key.Value), p)
		}
	}
}

// unknownHint says what may have been meant.
func unknownHint(key string, fields map[string]reflect.Type) string {
	if key == "secretsDirectory" {
		return "; credentials come from a Secret (secretName, secretNamespace) or from user and password"
	}
	folded := fold(key)
	best, distance := "", 3
	for name := range fields {
		if fold(name) == folded {
			best = name
			break
		}
		if d := editDistance(folded, fold(name)); d < distance || d == distance && best != "" && name < best {
			best, distance = name, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// fold makes insecure-flag, insecure_flag and InsecureFlag one.
func fold(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}

// editDistance is the number of single-letter edits between a and b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], slices.Min([]int{row[j+1] + 1, row[j] + 1, diagonal + cost})
		}
	}
	return row[len(b)]
}
