package inspect

import (
	"slices"
	"strings"
)

// secretWords are in keys of values that are nobody's business: passwords and keys.
func secretWords() []string {
	return []string{"password", "passwd", "passphrase", "secret", "token", "credential", "private", "vnc.key", "filekey", "encryption.", "machine.id"}
}

// configuringWords are in keys of what a guest is configured with when it boots, which may hold some: cloud-init's
// userdata, metadata and vendordata, Ignition's and Talos' config, the properties of an OVF.
func configuringWords() []string {
	return []string{"data", "config", "ignition", "cloud-init", "script", "ovfenv"}
}

// secretive tells whether the value of an advanced setting of a VM is not to be shown.
func secretive(key string) bool {
	key = strings.ToLower(key)
	has := func(word string) bool { return strings.Contains(key, word) }
	if slices.ContainsFunc(secretWords(), has) {
		return true
	}
	if strings.HasSuffix(key, ".encoding") { // says how it is written, and nothing of it
		return false
	}
	return strings.HasPrefix(key, "guestinfo.") && slices.ContainsFunc(configuringWords(), has)
}
