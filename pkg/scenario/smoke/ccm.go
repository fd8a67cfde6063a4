package smoke

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
)

// CCM is a cloud controller manager.
type CCM struct {
	// Source is where it comes from, as --ccm has it: "builtin", "module:v1.36.0".
	Source string `json:"source"`
	// Version is what the source says of it; "" when it says nothing.
	Version string `json:"version,omitempty"`
	// Own: it is this project's.
	Own bool `json:"own,omitempty"`
}

// String is its source, and its version where that does not name it.
func (c CCM) String() string {
	if c.Version == "" || strings.Contains(c.Source, c.Version) {
		return c.Source
	}
	return c.Source + " (" + c.Version + ")"
}

// is tells whether a cloud controller manager is the one that a known failure names: by its source, or, for upstream's in
// another wrapping, by its version.
func (c CCM) is(pattern string) bool {
	if expect.Match(pattern, c.Source) {
		return true
	}
	return !c.Own && strings.HasPrefix(c.Version, "v1.") && expect.Match(pattern, "module:"+c.Version)
}

// knownIn returns why the cloud controller manager is known to fail, "" when it is not.
func (c CCM) knownIn(list []scenario.KnownFailure) string {
	for _, k := range list {
		if c.is(k.CCM) {
			return k.Why
		}
	}
	return ""
}
