package timeline

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// uuid is what a UUID looks like: x is a hexadecimal digit.
const uuid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"

// short makes text of elsewhere fit for a row: clean, and of UUIDs only what comes before their first dash, which is
// enough to tell them apart: pvc-1f6b3c52….
func short(s string) string {
	s = text.Clean(s)
	if len(s) < len(uuid) {
		return s
	}
	var b strings.Builder
	from := 0
	for i := 0; i+len(uuid) <= len(s); {
		if !isUUID(s[i : i+len(uuid)]) {
			i++
			continue
		}
		b.WriteString(s[from : i+8])
		b.WriteString("…")
		i += len(uuid)
		from = i
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

func isUUID(s string) bool {
	if s[8] != '-' { // nearly all that are none
		return false
	}
	for i := range len(uuid) {
		switch c := s[i]; {
		case uuid[i] == '-':
			if c != '-' {
				return false
			}
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return true
}
