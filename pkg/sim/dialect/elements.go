package dialect

import "bytes"

var arrayOf = []byte("ArrayOf")

// typeElements adds xsi:type to the elements of array values that have none.
func typeElements(doc []byte) []byte {
	if !bytes.Contains(doc, []byte(`:type="ArrayOf`)) {
		return doc
	}
	var (
		out    = make([]byte, 0, len(doc)+len(doc)/4)
		copied int    // doc[:copied] is in out
		arrays []bool // of the elements that are open: their values are arrays
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

// primitive reports that the type of array elements of a name is one of XML Schema.
func primitive(name []byte) bool {
	switch string(name) {
	case "boolean", "byte", "short", "int", "long", "float", "double", "string", "dateTime", "anyURI", "base64Binary":
		return true
	}
	return false
}
