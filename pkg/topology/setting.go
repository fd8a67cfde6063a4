package topology

import (
	"fmt"
	"strings"
)

// Setting is the value of a parameter, in place of its default. Of several for one parameter the last one counts.
type Setting struct{ Name, Value string }

// ParseSetting reads "name=value", where the value may be empty, or hold further equals signs.
func ParseSetting(text string) (Setting, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return Setting{}, fmt.Errorf("must be NAME=VALUE, not %s", shown(text))
	}
	return Setting{Name: name, Value: value}, nil
}
