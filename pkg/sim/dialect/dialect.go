package dialect

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// Handler corrects the answers of next, the SOAP endpoints below /sdk and /pbm. Other paths pass through unchanged.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		action := r.Header.Get("SOAPAction")
		switch {
		case r.Method != http.MethodPost:
		case strings.HasPrefix(r.URL.Path, vim25.Path):
			w, r = &writer{ResponseWriter: w, old: before68(action)}, inner(r)
		case strings.HasPrefix(r.URL.Path, pbm.Path):
			w = &writer{ResponseWriter: w, oldPolicies: oldPolicies(action)}
		}
		next.ServeHTTP(w, r)
	})
}

// writer corrects an answer, which vcsim writes in one piece.
type writer struct {
	http.ResponseWriter
	old         bool // the client requests a version before 6.8
	oldPolicies bool // the same of the storage policies' API
}

// Unwrap supports http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (int, error) {
	out := p
	if bytes.HasPrefix(p, []byte("<?xml")) {
		if w.old {
			out = dropNewer(out)
		}
		if w.oldPolicies {
			out = dropElements(out, "k8sCompliantName", "otherK8sCompliantNames")
		}
		out = outerSwitches(typeElements(out))
	}
	if _, err := w.ResponseWriter.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// before68 reports whether a SOAPAction requests a version of the vSphere API before 6.8: "urn:vim25/6.7.1". It is false without
// a valid version.
func before68(action string) bool {
	_, version, ok := strings.Cut(strings.Trim(action, `"`), "urn:vim25/")
	if !ok {
		return false
	}
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err := strconv.Atoi(major)
	b, minorErr := strconv.Atoi(minor)
	return err == nil && (a < 6 || a == 6 && (minorErr != nil || b < 8))
}

// oldPolicies reports whether a SOAPAction requests a version of the storage policies' API from 1 to 7, without the names for
// Kubernetes: "urn:pbm/2.0". govmomi requests the version of the vSphere API or none.
func oldPolicies(action string) bool {
	_, version, _ := strings.Cut(strings.Trim(action, `"`), "urn:pbm/")
	major := numbers(version)[0]
	return major > 0 && major < 8
}

var arrayOf = []byte("ArrayOf")

// typeElements adds xsi:type to the elements of array values that have none.
func typeElements(doc []byte) []byte {
	if !bytes.Contains(doc, []byte(`:type="ArrayOf`)) {
		return doc
	}
	var (
		out    = make([]byte, 0, len(doc)+len(doc)/4)
		copied int    // doc[:copied] is in out
		arrays []bool // whether the open elements contain arrays
	)
	for from := 0; ; {
		t, ok := next(doc, from)
		if !ok {
			break
		}
		from = t.end
		if t.close {
			if len(arrays) > 0 {
				arrays = arrays[:len(arrays)-1]
			}
			continue
		}
		typ := t.xsiType()
		if typ == nil && len(arrays) > 0 && arrays[len(arrays)-1] {
			out = append(out, doc[copied:t.end-1]...)
			out = append(out, ` xsi:type="`...)
			if primitive(t.name) {
				out = append(out, "xsd:"...)
			}
			out = append(append(out, t.name...), '"')
			copied = t.end - 1
		}
		arrays = append(arrays, bytes.HasPrefix(typ, arrayOf))
	}
	return append(out, doc[copied:]...)
}

// primitive reports whether array elements of that name have a type of XML Schema.
func primitive(name []byte) bool {
	switch string(name) {
	case "boolean", "byte", "short", "int", "long", "float", "double", "string", "dateTime", "anyURI", "base64Binary":
		return true
	}
	return false
}

// tag is a start or end tag of a document from Go's encoder, which has no comments, CDATA or empty-element tags, and < and > only
// in tags.
type tag struct {
	name       []byte // without the prefix
	attributes []byte
	start, end int // the tag is doc[start:end]
	close      bool
}

// next returns the first tag at or after an offset.
func next(doc []byte, from int) (tag, bool) {
	for {
		i := bytes.IndexByte(doc[from:], '<')
		if i < 0 {
			return tag{}, false
		}
		start := from + i
		n := bytes.IndexByte(doc[start:], '>')
		if n < 0 {
			return tag{}, false
		}
		t := tag{start: start, end: start + n + 1}
		inside := doc[start+1 : start+n]
		if len(inside) == 0 || inside[0] == '?' {
			from = t.end
			continue
		}
		if inside[0] == '/' {
			t.close, inside = true, inside[1:]
		}
		t.name, t.attributes, _ = bytes.Cut(inside, []byte(" "))
		if _, local, ok := bytes.Cut(t.name, []byte(":")); ok {
			t.name = local
		}
		return t, true
	}
}

// xsiType returns the type of a start tag, without its prefix, or nil. vcsim writes the attribute as xsi:type and as
// _XMLSchema-instance:type.
func (t tag) xsiType() []byte {
	for _, key := range []string{`xsi:type="`, `XMLSchema-instance:type="`} {
		if _, rest, ok := bytes.Cut(t.attributes, []byte(key)); ok {
			value, _, _ := bytes.Cut(rest, []byte(`"`))
			if _, local, ok := bytes.Cut(value, []byte(":")); ok {
				return local
			}
			return value
		}
	}
	return nil
}

// newerText has a line for each type that gained properties after vSphere API 6.7.1: the type, then the properties. It is what
// govmomi v0.56 (API 9.1) has of the types of that time, and pyvmomi 6.7.1 has not.
//
//go:embed newer.txt
var newerText string

// newer is newerText by type.
var newer = sync.OnceValue(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for line := range strings.Lines(newerText) {
		words := strings.Fields(line)
		all[words[0]] = map[string]bool{}
		for _, property := range words[1:] {
			all[words[0]][property] = true
		}
	}
	return all
})

// dropNewer removes properties newer than API 6.7.1 from an answer.
func dropNewer(doc []byte) []byte {
	var (
		byName = types.TypeFunc()
		out    = make([]byte, 0, len(doc))
		copied int
		open   []reflect.Type // of the open elements; nil: unknown
		dropAt = -1           // the depth of the dropped element
	)
	for from := 0; ; {
		t, ok := next(doc, from)
		if !ok {
			break
		}
		from = t.end
		if t.close {
			if len(open) == 0 {
				return doc // not from vcsim
			}
			open = open[:len(open)-1]
			if len(open) == dropAt {
				dropAt, copied = -1, t.end
			}
			continue
		}
		var typ reflect.Type
		if name := t.xsiType(); name != nil {
			typ, _ = byName(string(name))
		} else if n := len(open); n > 0 && open[n-1] != nil {
			var fresh bool
			if typ, fresh = property(open[n-1], string(t.name)); fresh && dropAt < 0 {
				out = append(out, doc[copied:t.start]...)
				dropAt = n
			}
		} else {
			typ = answers()[string(t.name)]
		}
		open = append(open, typ)
	}
	if dropAt >= 0 {
		return doc
	}
	return append(out, doc[copied:]...)
}

// dropElements removes the elements of these names from an answer.
func dropElements(doc []byte, names ...string) []byte {
	var (
		out    = make([]byte, 0, len(doc))
		copied int
		depth  int // inside a dropped element
	)
	for from := 0; ; {
		t, ok := next(doc, from)
		if !ok {
			break
		}
		from = t.end
		switch {
		case depth > 0 && t.close:
			if depth--; depth == 0 {
				copied = t.end
			}
		case depth > 0:
			depth++
		case !t.close && slices.Contains(names, string(t.name)):
			out = append(out, doc[copied:t.start]...)
			depth = 1
		}
	}
	if depth > 0 {
		return doc
	}
	return append(out, doc[copied:]...)
}

// answers maps elements to the types of answers with newer properties. govmomi has no such table.
var answers = sync.OnceValue(func() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, answer := range []any{
		types.RetrieveServiceContentResponse{},
		types.RetrievePropertiesResponse{},
		types.RetrievePropertiesExResponse{},
		types.ContinueRetrievePropertiesExResponse{},
		types.WaitForUpdatesResponse{},
		types.WaitForUpdatesExResponse{},
		types.CheckForUpdatesResponse{},
		types.QueryConfigOptionResponse{},
		types.QueryConfigOptionExResponse{},
		types.QueryConfigTargetResponse{},
		types.QueryEventsResponse{},
		types.ReadNextEventsResponse{},
		types.ReadPreviousEventsResponse{},
		types.ReadNextTasksResponse{},
		types.ReadPreviousTasksResponse{},
	} {
		t := reflect.TypeOf(answer)
		all[t.Name()] = t
	}
	return all
})

// property returns the type of a property, nil if unknown, and whether the property is newer than API 6.7.1.
func property(of reflect.Type, name string) (typ reflect.Type, fresh bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil, false
	}
	for f := range of.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("xml"), ",")
		switch {
		case f.Anonymous:
			if typ, fresh := property(f.Type, name); typ != nil {
				return typ, fresh
			}
		case tag == name:
			return f.Type, newer()[of.Name()][name]
		}
	}
	return nil, false
}

// Versions serves vimServiceVersions.xml for a vCenter of an API version, with that version and all prior ones.
func Versions(api string) http.HandlerFunc {
	all := []string{
		"9.0.0.0", "8.0.3.0", "8.0.2.0", "8.0.1.0", "8.0.0.1", "7.0.3.2", "7.0.3.0", "7.0.2.0", "7.0.1.0", "7.0.0.0", "6.9.1", "6.8.7",
		"6.7.3", "6.7.2", "6.7.1", "6.7", "6.5", "6.0", "5.5",
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		var prior strings.Builder
		for _, version := range all {
			if slices.Compare(numbers(version), numbers(api)) < 0 {
				fmt.Fprintf(&prior, "   <version>%s</version>\n", version)
			}
		}
		w.Header().Set("Content-Type", "text/xml")
		_, _ = fmt.Fprintf(w, xml.Header+`<namespaces version="1.0">
 <namespace>
  <name>urn:vim25</name>
  <version>%s</version>
  <priorVersions>
%s  </priorVersions>
 </namespace>
</namespaces>
`, api, prior.String())
	}
}

// numbers parses a version; other texts count as 0.
func numbers(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		all = append(all, n)
	}
	return all
}
