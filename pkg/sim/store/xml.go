package store

import (
	"bytes"
	"io"

	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// encode writes a value as govc does.
func encode(w io.Writer, v any) error {
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	return e.Encode(v)
}

// decode reads a value. line is where reading ended.
func decode(data []byte, v any) (line int, err error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.TypeFunc = types.TypeFunc()
	err = d.Decode(v)
	return lineAt(data, d.InputOffset()), err
}

// lineAt is the line of a byte.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// lineOf is the line in which a text stands first; 0 when it does not.
func lineOf(data []byte, text string) int {
	i := bytes.Index(data, []byte(text))
	if i < 0 {
		return 0
	}
	return lineAt(data, int64(i))
}

// deepest is how far elements of a saved object may be nested. Real ones stay below 20; decoding recurses.
const deepest = 200

// tooDeep tells at which line elements are nested deeper than that, 0 when nowhere. It counts tags without looking into
// comments, which saved objects have none of.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); {
		j := bytes.IndexByte(data[i:], '<')
		if j < 0 || i+j+1 >= len(data) {
			return 0
		}
		i += j + 1
		end := bytes.IndexByte(data[i:], '>')
		if end < 0 {
			return 0
		}
		switch {
		case data[i] == '/':
			depth--
		case data[i] == '!', data[i] == '?':
		case end > 0 && data[i+end-1] == '/':
		default:
			if depth++; depth > deepest {
				return lineAt(data, int64(i))
			}
		}
		i += end
	}
	return 0
}
