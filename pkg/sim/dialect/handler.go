package dialect

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25"
)

// Handler corrects the answers of next, the SOAP endpoint below /sdk. Other paths pass through unchanged.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, vim25.Path) {
			w = &writer{ResponseWriter: w, old: before68(r.Header.Get("SOAPAction"))}
		}
		next.ServeHTTP(w, r)
	})
}

// writer corrects an answer, which vcsim writes in one piece.
type writer struct {
	http.ResponseWriter
	old bool // the client requests a version before 6.8
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
		out = typeElements(out)
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
