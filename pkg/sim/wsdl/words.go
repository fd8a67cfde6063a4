package wsdl

import (
	_ "embed"
	"regexp"
	"strings"
)

// managed has what the documents do not: the types of managed objects and their properties.
//
//go:embed managed.txt
var managed string

var nameOrValue = regexp.MustCompile(`\s(?:name|value|element)="(?:vim25:)?(\w+)"`)

// Words returns the words of the API: names of methods, types and properties, and values of enums.
func Words() map[string]bool {
	words := map[string]bool{}
	for _, doc := range [][]byte{documents().service, documents().types} {
		for _, m := range nameOrValue.FindAllSubmatch(doc, -1) {
			words[string(m[1])] = true
		}
	}
	for word := range strings.FieldsSeq(managed) {
		words[word] = true
	}
	return words
}
