package topology

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// Setting sets the value of a parameter. Of several for one parameter the last one counts.
type Setting struct{ Name, Value string }

// ParseSetting parses "name=value". The value may be empty, or contain equals signs.
func ParseSetting(text string) (Setting, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return Setting{}, fmt.Errorf("must be NAME=VALUE, not %s", strict.Shown(text))
	}
	return Setting{Name: name, Value: value}, nil
}
