package config

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// unknownHint says what may have been meant by a key that its section does not know. all are the section's keys, and
// elsewhere are keys of other sections by what they are called there in full.
func unknownHint(key string, all []string, elsewhere map[string]string) string {
	if best := nearest.Of(key, all); best != "" {
		return "did you mean " + best + "?"
	}
	if there := elsewhere[fold(key)]; there != "" {
		return "did you mean " + there + "?"
	}
	return ""
}

// fold makes insecure-flag, insecure_flag and InsecureFlag one.
func fold(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}
