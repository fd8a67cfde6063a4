package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// Foreign keys and sections are those that generators of vsphere.conf write although upstream's reader ignores them: they are
// of another file, of another time, or spelled in another way. They cause a warning.

// foreignYAML are the keys of a vCenter in YAML that are fields of upstream's type and not configuration: a file that was made
// by marshaling that type has them (openshift/installer).
func foreignYAML() []string { return []string{"tenantref", "secretref"} }

// foreignSection returns why a section of an INI file has no effect, and whether it is known at all.
func foreignSection(name string) (why string, ok bool) {
	switch strings.ToLower(name) {
	case "workspace", "disk", "network", "nsx-t", "tags":
		return "has no effect", true
	case "snapshot", "topologycategory", "netpermissions", "gc":
		return "has no effect: it is a section of csi-vsphere.conf", true
	}
	return "", false
}

// ForeignKey reports whether a key that [Global] or a vCenter's section of an INI file does not have is known from another file
// or another section, why it has no effect, and what may have been meant. The reader warns about it; any other unknown key is an
// error.
func ForeignKey(key string) (why, hint string, ok bool) {
	key = strings.ToLower(key)
	switch {
	case key == "soap-roundtripper-count": // cluster-api-provider-vsphere's
		return "has no effect", "did you mean soap-roundtrip-count?", true
	case slices.Contains(workspaceKeys(), key):
		return "has no effect", "did you mean [Workspace] " + key + "?", true
	case key == "scsicontrollertype":
		return "has no effect", "did you mean [Disk] scsicontrollertype?", true
	case key == "public-network":
		return "has no effect", "did you mean [Network] public-network?", true
	case slices.Contains(csiKeys(), key):
		return "has no effect: it is a key of csi-vsphere.conf", "", true
	}
	return "", "", false
}

// foreignHint returns what to give in place of a file that is for something else.
func foreignHint(use strict.Use, what string) string {
	switch {
	case use == strict.UseKubernetes && strings.HasSuffix(what, " credentials of a vCenter"):
		return "name it in secretName and secretNamespace of a vsphere.conf"
	case use == strict.UseKubernetes:
		return "save the vsphere.conf in it as a separate file"
	case use == strict.UseInstaller:
		return "give the vsphere.conf that is made from it"
	}
	return ""
}

// workspaceKeys are the in-tree provider's keys for volumes that no other section has.
func workspaceKeys() []string { return []string{"folder", "default-datastore", "resourcepool-path"} }

// csiKeys are the keys of csi-vsphere.conf that vsphere.conf does not have.
func csiKeys() []string {
	return []string{
		"cluster-id", "cluster-distribution", "supervisor-id", "targetvsanfilesharedatastoreurls", "targetvsanfileshareclusters",
		"migration-datastore-url", "query-limit", "list-volume-threshold", "csi-auth-check-intervalinmin",
		"csi-fetch-preferred-datastores-intervalinmin", "cnsregistervolumes-cleanup-intervalinmin",
		"volumemigration-cr-cleanup-intervalinmin", "topology-categories",
	}
}

// nothingSaid reports whether a YAML value is what a generator writes for a field that is not set: null, "", 0, false, or an
// empty list or mapping.
func nothingSaid(n *yaml.Node) bool {
	n = resolveAlias(n)
	switch {
	case strict.IsNull(n):
		return true
	case n.Kind == yaml.ScalarNode:
		var i int
		var b bool
		return n.Value == "" || n.ShortTag() == "!!int" && n.Decode(&i) == nil && i == 0 || n.ShortTag() == "!!bool" && n.Decode(&b) == nil && !b
	}
	return len(n.Content) == 0
}

// nothingSaidINI is [nothingSaid] for a value of an INI file.
func nothingSaidINI(e iniEntry) bool {
	if e.bare {
		return false
	}
	n, err := parseInt(e.value)
	b, isBool := parseBool(e.value)
	return e.value == "" || err == nil && n == 0 || isBool && !b
}
