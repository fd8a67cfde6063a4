package topology_test

import (
	"encoding"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// object is a JSON object.
type object = map[string]any

// generator makes a JSON schema of the types, with what their comments say.
type generator struct {
	comments comments
	made     object // definitions by type
	// plain is set for what cannot hold parameters.
	plain bool
}

func generate(t *testing.T) object {
	t.Helper()
	g := &generator{comments: readComments(t, ".", "stock"), made: object{}}
	whole := g.structure(reflect.TypeFor[topology.Topology]())
	properties := whole["properties"].(object)
	properties["apiVersion"] = object{"enum": []any{topology.APIVersion}}
	properties["kind"] = object{"enum": []any{topology.Kind}}
	g.plain = true
	maps.Copy(properties, g.structure(reflect.TypeFor[topology.Preamble]())["properties"].(object))
	g.made["parameterUse"] = object{
		"description": "The value of a parameter, or a text with one in it: ${name}.", "type": "string", "pattern": `\$\{`,
	}
	whole["$schema"] = "http://json-schema.org/draft-07/schema#"
	whole["title"] = "vsphere-sandbox topology"
	whole["description"] = "The desired inventory of a sandbox, or a part of one that another file includes."
	whole["definitions"] = g.made
	return whole
}

// structure is the schema of a struct, embedded ones seen as part of it.
func (g *generator) structure(t reflect.Type) object {
	properties, required, keys := object{}, []any{}, map[string]string{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && name != "" {
			keys[f.Name] = name
		}
	}
	docs := ""
	for _, f := range reflect.VisibleFields(t) {
		name, ok := keys[f.Name]
		if f.Anonymous || !ok {
			continue
		}
		owner := t
		if len(f.Index) > 1 {
			owner = t.FieldByIndex(f.Index[:len(f.Index)-1]).Type
		}
		// A comment may be about the fields after it, too.
		if own := g.comments[owner.Name()+"."+f.Name]; own != "" {
			docs = own
		} else if !regexp.MustCompile(`\b` + f.Name + `\b`).MatchString(docs) {
			docs = ""
		}
		if docs == "" && owner != t { // such as region and zone
			docs = g.comments[owner.Name()]
		}
		property := g.value(f.Type, f.Tag.Get("min") == "0")
		if docs != "" {
			property["description"] = description(docs, keys)
		}
		properties[name] = property
		// Lists may come from another file, as the only things that are merged by name are in lists.
		if !strings.Contains(f.Tag.Get("json"), ",") && f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Struct {
			required = append(required, name)
		}
	}
	made := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		made["required"] = required
	}
	if doc := g.comments[t.Name()]; doc != "" {
		made["description"] = description(doc, nil)
	}
	return made
}

// value is the schema of a field's value.
func (g *generator) value(t reflect.Type, zero bool) object {
	words, limited := topology.ChoicesOf(reflect.Zero(t).Interface())
	least := 1
	if zero {
		least = 0
	}
	switch {
	case t == reflect.TypeFor[topology.Scalar]():
		return object{"type": []any{"string", "number", "boolean"}}
	case t == reflect.TypeFor[topology.Bytes]():
		return g.orParameter(
			object{"type": "string", "pattern": `^\+?[0-9.]+([kMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?$`},
			object{"type": "integer", "minimum": least},
		)
	case t == reflect.TypeFor[topology.Duration]():
		return g.orParameter(object{"type": "string", "pattern": `^\+?([0-9.]+(ns|us|µs|μs|ms|s|m|h))+$`})
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return object{"type": []any{"string", "number"}}
	case limited:
		enum := make([]any, len(words))
		for i, word := range words {
			enum[i] = word
		}
		return g.orParameter(object{"enum": enum})
	case t.Kind() == reflect.Pointer:
		return g.value(t.Elem(), zero)
	case t.Kind() == reflect.Struct:
		if g.made[t.Name()] == nil {
			g.made[t.Name()] = object{} // it may hold itself
			g.made[t.Name()] = g.structure(t)
		}
		return object{"$ref": "#/definitions/" + t.Name()}
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": g.value(t.Elem(), false)}
	case t.Kind() == reflect.Map:
		return object{"type": "object", "additionalProperties": g.value(t.Elem(), false)}
	case t.Kind() == reflect.Bool:
		return g.orParameter(object{"type": "boolean"})
	case t.Kind() == reflect.String:
		return object{"type": "string"}
	}
	return g.orParameter(object{"type": "integer", "minimum": least})
}

// orParameter also takes a parameter, where one can stand.
func (g *generator) orParameter(schemas ...object) object {
	if g.plain && len(schemas) == 1 {
		return schemas[0]
	}
	either := make([]any, 0, len(schemas)+1)
	for _, schema := range schemas {
		either = append(either, schema)
	}
	if !g.plain {
		either = append(either, object{"$ref": "#/definitions/parameterUse"})
	}
	return object{"anyOf": either}
}

var (
	goReference = regexp.MustCompile(` ?(\(\[\w+\.\w+\]\)|\[\w+\.\w+\] [^.]*\.)`) // what only Go programs can ask
	goLink      = regexp.MustCompile(`\[(\w+)\]`)
	word        = regexp.MustCompile(`\w+`)
)

// description converts a doc comment for YAML users, with keys in the place of fields.
func description(doc string, keys map[string]string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	doc = goLink.ReplaceAllString(goReference.ReplaceAllString(doc, ""), "$1")
	return word.ReplaceAllStringFunc(doc, func(word string) string {
		if key, ok := keys[word]; ok {
			return key
		}
		return word
	})
}

// comments are doc comments by Type and Type.Field.
type comments map[string]string

func readComments(t *testing.T, dirs ...string) comments {
	t.Helper()
	all := comments{}
	for _, dir := range dirs {
		for _, file := range glob(t, filepath.Join(dir, "*.go")) {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range parsed.Decls {
				if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.TYPE {
					all.add(g)
				}
			}
		}
	}
	return all
}

func (c comments) add(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		named := spec.(*ast.TypeSpec)
		c[named.Name.Name] = decl.Doc.Text() + named.Doc.Text()
		structure, ok := named.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range structure.Fields.List {
			for _, name := range field.Names {
				c[named.Name.Name+"."+name.Name] = field.Doc.Text() + field.Comment.Text()
			}
		}
	}
}
