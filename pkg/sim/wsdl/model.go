package wsdl

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

//go:embed names.txt
var names string

// Suffixes and prefixes of names that follow from another name.
const (
	requestSuffix = "RequestType"
	arrayPrefix   = "ArrayOf"
)

// model has the methods and types of the API.
type model struct {
	byName  types.Func
	types   map[string]reflect.Type // what the schema defines, by name in XML
	methods []string                // sorted
	results map[string]string       // the elements of the methods' results
	faults  []string                // types derived from MethodFault, sorted
}

// newModel returns the API of govmomi's types.
func newModel() *model {
	m := &model{byName: types.TypeFunc(), types: make(map[string]reflect.Type), results: make(map[string]string)}
	for line := range strings.Lines(names) {
		m.add(strings.TrimSpace(line))
	}
	slices.Sort(m.methods)
	for name, typ := range m.types {
		if fault := reflect.TypeFor[types.MethodFault](); typ == fault || derived(typ, fault) {
			m.faults = append(m.faults, name)
		}
	}
	slices.Sort(m.faults)
	return m
}

// requestOf returns the type of a method's parameters.
func requestOf(method string) string { return strings.TrimSuffix(method, "_Task") + requestSuffix }

// add adds a type, or a method with the type of its result, and what it refers to. The mark behind the type is that of a regular
// expression: "?" for a result that may be absent, "*" for a list.
func (m *model) add(line string) {
	name, result, _ := strings.Cut(line, " ")
	request, ok := m.byName(requestOf(name))
	if !ok {
		if typ, ok := m.byName(name); ok {
			m.define(name, typ)
		}
		return
	}
	m.methods = append(m.methods, name)
	m.define(requestOf(name), request)
	if result == "" {
		return
	}
	typ := m.xmlName(strings.TrimRight(result, "?*"))
	occurs := ""
	switch {
	case strings.HasSuffix(result, "*"):
		occurs = ` minOccurs="0" maxOccurs="unbounded"`
	case strings.HasSuffix(result, "?"):
		occurs = ` minOccurs="0"`
	}
	m.results[name] = fmt.Sprintf(`<xsd:element name="returnval" type=%q%s/>`, qualified(typ), occurs)
	if own, ok := m.byName(typ); ok {
		m.define(typ, own)
	}
}

// define adds a type, its base type, the types of its fields, and its array type.
func (m *model) define(name string, typ reflect.Type) {
	if m.types[name] != nil {
		return
	}
	m.types[name] = typ
	if array, ok := m.byName(arrayPrefix + strings.ToUpper(name[:1]) + name[1:]); ok {
		m.define(array.Name(), array)
	}
	if typ.Kind() != reflect.Struct {
		return
	}
	for f := range typ.Fields() {
		m.refer(f.Type)
	}
}

// refer adds the type of a field, unless it is of XML Schema.
func (m *model) refer(typ reflect.Type) {
	if xsd, typ := m.schemaType(typ); typ != nil {
		m.define(xsd, typ)
	}
}

// schemaType returns the name of a field's type, without a namespace if it is the API's, which is returned, too.
func (m *model) schemaType(typ reflect.Type) (name string, own reflect.Type) {
	if typ == reflect.TypeFor[types.ByteSlice]() {
		return "xsd:byte", nil
	}
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 {
		typ = typ.Elem()
	}
	if typ == reflect.TypeFor[types.ByteSlice]() {
		return "xsd:byte", nil
	}
	if typ.Kind() == reflect.Interface {
		if base, ok := strings.CutPrefix(typ.Name(), "Base"); ok {
			if typ, ok := m.byName(base); ok {
				return base, typ
			}
		}
		return "xsd:anyType", nil
	}
	if typ.PkgPath() == reflect.TypeFor[types.MethodFault]().PkgPath() {
		return m.xmlName(typ.Name()), typ
	}
	if typ == reflect.TypeFor[time.Time]() {
		return "xsd:dateTime", nil
	}
	switch typ.Kind() {
	case reflect.Bool:
		return "xsd:boolean", nil
	case reflect.Int8, reflect.Uint8:
		return "xsd:byte", nil
	case reflect.Int16:
		return "xsd:short", nil
	case reflect.Int32:
		return "xsd:int", nil
	case reflect.Int64, reflect.Int:
		return "xsd:long", nil
	case reflect.Float32:
		return "xsd:float", nil
	case reflect.Float64:
		return "xsd:double", nil
	case reflect.Slice:
		return "xsd:base64Binary", nil
	}
	return "xsd:string", nil
}

// xmlName returns the name of a Go type in XML: a few begin with a small letter.
func (m *model) xmlName(name string) string {
	if _, ok := m.byName(name); !ok {
		lower := strings.ToLower(name[:1]) + name[1:]
		if _, ok := m.byName(lower); ok {
			return lower
		}
	}
	return name
}

// qualified returns a name from schemaType with its namespace.
func qualified(name string) string {
	if strings.Contains(name, ":") {
		return name
	}
	return "vim25:" + name
}

// element returns the element of a field.
func (m *model) element(f reflect.StructField) string {
	name, options, _ := strings.Cut(f.Tag.Get("xml"), ",")
	typ, _ := m.schemaType(f.Type)
	occurs := ""
	if slices.Contains(strings.Split(options, ","), "omitempty") {
		occurs += ` minOccurs="0"`
	}
	if f.Type.Kind() == reflect.Slice && typ != "xsd:base64Binary" {
		occurs += ` maxOccurs="unbounded"`
	}
	return fmt.Sprintf("<xsd:element name=%q type=%q%s/>", name, qualified(typ), occurs)
}

// writeTypes writes vim-types.xsd.
func (m *model) writeTypes(w io.Writer) {
	p := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	p("%s", xml.Header+`<xsd:schema targetNamespace="urn:vim25" elementFormDefault="qualified" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:vim25="urn:vim25">
`)
	sorted := make([]string, 0, len(m.types))
	for name := range m.types {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		typ := m.types[name]
		switch {
		case typ == reflect.TypeFor[types.ManagedObjectReference]():
			p("  <xsd:complexType name=%q><xsd:simpleContent><xsd:extension base=\"xsd:string\">\n"+
				"    <xsd:attribute name=\"type\" type=\"xsd:string\"/>\n    <xsd:attribute name=\"serverGuid\" type=\"xsd:string\"/>\n"+
				"  </xsd:extension></xsd:simpleContent></xsd:complexType>\n", name)
		case typ.Kind() == reflect.Struct:
			m.writeStruct(p, name, typ)
		default:
			p("  <xsd:simpleType name=%q><xsd:restriction base=\"xsd:string\">\n", name)
			for _, value := range values(typ) {
				p("    <xsd:enumeration value=%q/>\n", value)
			}
			p("  </xsd:restriction></xsd:simpleType>\n")
		}
	}
	p("</xsd:schema>\n")
}

// writeStruct writes a type with properties. Its first field may be the type that it extends.
func (m *model) writeStruct(p func(string, ...any), name string, typ reflect.Type) {
	base, elements := "", []string(nil)
	for f := range typ.Fields() {
		if f.Anonymous {
			base, _ = m.schemaType(f.Type)
			continue
		}
		elements = append(elements, m.element(f))
	}
	p("  <xsd:complexType name=%q>\n", name)
	if base != "" {
		p("    <xsd:complexContent><xsd:extension base=%q>\n", qualified(base))
	}
	p("    <xsd:sequence>\n")
	for _, e := range elements {
		p("      %s\n", e)
	}
	p("    </xsd:sequence>\n")
	if base != "" {
		p("    </xsd:extension></xsd:complexContent>\n")
	}
	p("  </xsd:complexType>\n")
}

// derived reports whether a type extends another, directly or not.
func derived(typ, from reflect.Type) bool {
	for typ.Kind() == reflect.Struct && typ.NumField() > 0 && typ.Field(0).Anonymous {
		if typ = typ.Field(0).Type; typ == from {
			return true
		}
	}
	return false
}

// values returns the values of an enum.
func values(typ reflect.Type) (all []string) {
	method := reflect.Zero(typ).MethodByName("Strings")
	if !method.IsValid() {
		return nil
	}
	all, _ = reflect.TypeAssert[[]string](method.Call(nil)[0])
	return all
}
