package migrate

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// key is one key of a section of an old file.
type key struct {
	name    string
	readers readers
	judge   func(*conversion, located) judgment
}

// located is a key in its place.
type located struct {
	section config.INISection
	entry   config.INIEntry
	// of is the vCenter whose section it is in; nil in all others.
	of *plan
}

// section is a section and its keys.
type section struct {
	name    string
	sub     bool
	readers readers
	keys    []key
	// unread sections are not looked into by the reader of the provider's configuration.
	unread bool
	// idle is why a section has no effect; it is left out.
	idle  string
	judge func(*conversion, *plan) judgment
}

// sections are all that an old file may have. Sources: the in-tree provider's VSphereConfig, and
// pkg/common/config/types_ini_legacy.go of cloud-provider-vsphere.
func sections() []section {
	return append([]section{
		{name: "Global", readers: both, keys: globalKeys(), judge: judgeGlobal},
		{name: "VirtualCenter", sub: true, readers: both, keys: vcenterKeys(), judge: judgeVCenter},
		{name: "Workspace", readers: inTree, unread: true, judge: judgeWorkspace, keys: []key{
			{name: "server", readers: inTree, judge: dropped(noWorkspace)},
			{name: "datacenter", readers: inTree, judge: dropped(noWorkspace)},
			{name: "folder", readers: inTree, judge: dropped(noHelperVM)},
			{name: "default-datastore", readers: inTree, judge: judgeDatastore},
			{name: "resourcepool-path", readers: inTree, judge: dropped(noHelperVM)},
		}},
		{name: "Disk", readers: inTree, unread: true, judge: judgeDisk, keys: []key{
			{name: "scsicontrollertype", readers: inTree, judge: dropped(noController)},
		}},
		{name: "Network", readers: inTree, unread: true, judge: judgeNetwork, keys: []key{
			{name: "public-network", readers: inTree, judge: judgePublic},
		}},
		{name: "Labels", readers: both, judge: judgeLabels, keys: []key{
			{name: "region", readers: both, judge: judgeLabel("region")},
			{name: "zone", readers: both, judge: judgeLabel("zone")},
		}},
		{name: "Nodes", readers: outside, judge: judgeNodes, keys: []key{
			{name: "internal-network-subnet-cidr", readers: outside, judge: judgeSubnets("internalNetworkSubnetCidr", func(n config.Nodes) string { return joined(n.InternalSubnets) })},
			{name: "external-network-subnet-cidr", readers: outside, judge: judgeSubnets("externalNetworkSubnetCidr", func(n config.Nodes) string { return joined(n.ExternalSubnets) })},
			{name: "internal-vm-network-name", readers: outside, judge: judgeNode("internalVmNetworkName")},
			{name: "external-vm-network-name", readers: outside, judge: judgeNode("externalVmNetworkName")},
			{name: "exclude-internal-network-subnet-cidr", readers: outside, judge: judgeSubnets("excludeInternalNetworkSubnetCidr", func(n config.Nodes) string { return joined(n.ExcludeInternalSubnets) })},
			{name: "exclude-external-network-subnet-cidr", readers: outside, judge: judgeSubnets("excludeExternalNetworkSubnetCidr", func(n config.Nodes) string { return joined(n.ExcludeExternalSubnets) })},
		}},
	}, nsxSections()...)
}

// endpointKeys are what the global section and the one of a vCenter both have; own are the readers of those that the
// in-tree provider had in the global section alone.
func endpointKeys(own readers) []key {
	return []key{
		{name: "server", readers: own, judge: judgeServer},
		{name: "user", readers: both, judge: judgeCredential("username")},
		{name: "password", readers: both, judge: judgeCredential("password")},
		{name: "port", readers: both, judge: carried("port", "port")},
		{name: "insecure-flag", readers: own, judge: judgeInsecure},
		{name: "ca-file", readers: own, judge: judgeCAFile},
		{name: "thumbprint", readers: both, judge: carried("thumbprint", "thumbprint")},
		{name: "datacenters", readers: both, judge: carried("datacenters", "datacenters")},
		{name: "soap-roundtrip-count", readers: both, judge: carried("soapRoundtripCount", "")},
		{name: "secret-name", readers: own, judge: judgeReference("secretName", func(r config.SecretRef) string { return r.Name })},
		{name: "secret-namespace", readers: own, judge: judgeReference("secretNamespace", func(r config.SecretRef) string { return r.Namespace })},
		{name: "ip-family", readers: outside, judge: carried("ipFamily", "")},
		{name: "api-disable", readers: outside, judge: dropped(noAPI)},
		{name: "api-binding", readers: outside, judge: dropped(noAPI)},
		{name: "service-account", readers: outside, judge: dropped(noAPI)},
	}
}

func globalKeys() []key {
	return append(endpointKeys(both),
		key{name: "secrets-directory", readers: outside, judge: judgeDirectory},
		key{name: "datacenter", readers: inTree, judge: judgeDatacenter},
		key{name: "datastore", readers: inTree, judge: judgeDatastore},
		key{name: "working-dir", readers: inTree, judge: dropped("nodes are found by their UUID, in any folder")},
		key{name: "vm-uuid", readers: inTree, judge: dropped("a node's UUID comes from the node itself, not from a file")},
		key{name: "vm-name", readers: inTree, judge: dropped("nodes are found by their UUID, not by the name of the VM")},
		key{name: "secret-not-managed", readers: inTree, judge: dropped("a Secret is followed as it changes, always")},
		key{name: "resourcepool-path", readers: unknown, judge: dropped("belonged under [Workspace], and " + noHelperVM)},
		key{name: "cluster-id", readers: unknown, judge: judgeClusterID},
	)
}

func vcenterKeys() []key { return endpointKeys(outside) }

// known are the sections, made once for a file that may have very many.
type known []section

// section finds a section; its case counts for nothing.
func (all known) section(name string) (section, bool) {
	i := slices.IndexFunc(all, func(s section) bool { return strings.EqualFold(s.name, name) })
	if i < 0 {
		return section{}, false
	}
	return all[i], true
}

func (s section) key(name string) (key, bool) {
	i := slices.IndexFunc(s.keys, func(k key) bool { return strings.EqualFold(k.name, name) })
	if i >= 0 {
		return s.keys[i], true
	}
	if s.name != "Global" && s.name != "VirtualCenter" {
		return key{}, false
	}
	why, hint, ok := config.ForeignKey(name)
	return key{name: name, judge: dropped(strings.TrimSuffix(why+", "+hint, ", "))}, ok
}

// sectionHint says what may have been meant by the name of a section.
func (all known) sectionHint(name string) string {
	var names []string
	for _, s := range all {
		names = append(names, s.name)
	}
	if best := nearest.Of(name, names); best != "" {
		return "did you mean [" + best + "]?"
	}
	return ""
}

// keyHint says what may have been meant by a key that its section does not know.
func (all known) keyHint(in section, name string) string {
	names := make([]string, len(in.keys))
	for i, k := range in.keys {
		names[i] = k.name
	}
	if best := nearest.Of(name, names); best != "" {
		return "did you mean " + best + "?"
	}
	for _, s := range all {
		if k, ok := s.key(name); ok {
			return "did you mean [" + s.name + "] " + k.name + "?"
		}
	}
	return ""
}
