package topology

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// Setting is the value of a parameter, in place of its default. Of several for one parameter the last one counts.
type Setting struct{ Name, Value string }

// ParseSetting reads "name=value", where the value may be empty, or hold further equals signs.
func ParseSetting(text string) (Setting, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return Setting{}, fmt.Errorf("must be NAME=VALUE, not %s", strict.Shown(text))
	}
	return Setting{Name: name, Value: value}, nil
}
