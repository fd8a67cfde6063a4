package config

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// key is one key of a section of csi-vsphere.conf, from upstream pkg/common/config/types.go.
type key struct {
	name string
	// unused is why it has no effect here; empty if it has.
	unused string
	// csi reports that vsphere.conf does not have it.
	csi bool
}

func endpointKeys() []key {
	return []key{
		{name: "user"},
		{name: "password"},
		{name: "port"},
		{name: "insecure-flag"},
		{name: "ca-file"},
		{name: "thumbprint"},
		{name: "datacenters"},
	}
}

type section struct {
	name string
	// sub reports that it has a second name.
	sub  bool
	csi  bool // vsphere.conf does not have it
	keys []key
	// unused is why the whole section has no effect.
	unused string
}

func sections() []section {
	return []section{
		{name: "Global", keys: append(endpointKeys(),
			key{name: "cluster-id", csi: true},
			key{name: "cluster-distribution", csi: true},
			key{name: "query-limit", csi: true},
			key{name: "supervisor-id", csi: true, unused: noSupervisor},
			key{name: "csi-auth-check-intervalinmin", csi: true, unused: "permissions are not checked in advance"},
			key{name: "csi-fetch-preferred-datastores-intervalinmin", csi: true, unused: seenAtOnce},
			key{name: "cnsvolumeoperationrequest-cleanup-intervalinmin", csi: true, unused: noCollecting},
			key{name: "cnsregistervolumes-cleanup-intervalinmin", csi: true, unused: noCollecting},
			key{name: "cnspvcprotection-cleanup-intervalinmin", csi: true, unused: noSupervisor},
			key{name: "volumemigration-cr-cleanup-intervalinmin", csi: true, unused: "the record of a migrated volume is deleted with the volume"},
			key{name: "vc-client-timeout", csi: true, unused: callsAreTimely},
			key{name: "list-volume-threshold", csi: true, unused: "volumes are listed as CNS has them"},
		)},
		{name: "VirtualCenter", sub: true, keys: append(endpointKeys(),
			key{name: "targetvsanfilesharedatastoreurls", csi: true, unused: anyShares},
			key{name: "targetvsanfileshareclusters", csi: true, unused: anyShares},
			key{name: "migration-datastore-url", csi: true},
		)},
		{name: "Labels", keys: []key{{name: "region"}, {name: "zone"}, {name: "topology-categories", csi: true}}},
		{name: "TopologyCategory", sub: true, csi: true, keys: []key{{name: "label"}}},
		{name: "Snapshot", csi: true, keys: []key{
			{name: globalSnapshots},
			{name: "granular-max-snapshots-per-block-volume-vsan", unused: "the global limit is for every kind of datastore"},
			{name: "granular-max-snapshots-per-block-volume-vvol", unused: "the global limit is for every kind of datastore"},
		}},
		{name: "NetPermissions", sub: true, csi: true, keys: []key{{name: "ips"}, {name: "permissions"}, {name: "rootsquash"}}},
		{name: "GC", csi: true, unused: noSupervisor},
		{name: "Workspace", unused: noInTree},
		{name: "Disk", unused: noInTree},
		{name: "Network", unused: "this driver configures no networks"},
	}
}

// sectionNamed finds a section, ignoring case.
func sectionNamed(name string) (section, bool) {
	all := sections()
	i := slices.IndexFunc(all, func(s section) bool { return strings.EqualFold(s.name, name) })
	if i < 0 {
		return section{}, false
	}
	return all[i], true
}

func (s section) key(name string) (key, bool) {
	i := slices.IndexFunc(s.keys, func(k key) bool { return strings.EqualFold(k.name, name) })
	if i < 0 {
		return key{}, false
	}
	return s.keys[i], true
}

func (s section) names() []string {
	names := make([]string, len(s.keys))
	for i, k := range s.keys {
		names[i] = k.name
	}
	return names
}

// keyHint suggests a key for an unknown one.
func keyHint(in section, name string) string {
	if best := nearest.Of(name, in.names()); best != "" {
		return "did you mean " + best + "?"
	}
	for _, s := range sections() {
		if k, ok := s.key(name); ok {
			return "did you mean [" + s.name + "] " + k.name + "?"
		}
	}
	return ""
}

// sectionHint suggests a section for an unknown one.
func sectionHint(name string) string {
	var names []string
	for _, s := range sections() {
		names = append(names, s.name)
	}
	if best := nearest.Of(name, names); best != "" {
		return "did you mean [" + best + "]?"
	}
	return ""
}

// onlyCSI reports whether a section, or one of its keys, exists only in csi-vsphere.conf.
func onlyCSI(s provider.INISection) bool {
	known, ok := sectionNamed(s.Name)
	if !ok {
		return false
	}
	return known.csi || slices.ContainsFunc(s.Entries, func(e provider.INIEntry) bool {
		k, ok := known.key(e.Key)
		return ok && k.csi
	})
}
