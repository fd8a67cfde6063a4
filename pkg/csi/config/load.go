package config

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// maxSize is far beyond any real file and keeps a wrong path from filling the memory.
const maxSize = 1 << 20

// Reading says how a file is to be read. The zero value reads either form and nothing but the file.
type Reading struct {
	Form Form
	// ClusterID is taken when the file has none, as the vsphere.conf of a cloud controller manager. It has to be the same
	// at every start; the UID of the Namespace kube-system is. Without either, loading fails.
	ClusterID string
	// Environment adds to a vsphere.conf, "NAME=VALUE" each, as for the cloud controller manager.
	Environment []string
	// DefaultSecrets names the secrets directory of vCenters that no credentials are configured for, if it is there.
	DefaultSecrets string
}

// LoadFile reads the named file. The error is of type [*provider.Error] when the file could be read.
func LoadFile(name string, r Reading) (*Config, error) {
	data, err := readFile(name)
	if err != nil {
		return nil, fmt.Errorf("driver config: %w", err)
	}
	return Load(name, data, r)
}

// readFile reads no more of a file than it takes to see that it is too large.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSize+1))
}

// Load reads data; name stands for it in errors, which are of type [*provider.Error].
func Load(name string, data []byte, r Reading) (*Config, error) {
	cfg, all := Check(name, data, r)
	if cfg != nil {
		return cfg, nil
	}
	e := &provider.Error{}
	for _, p := range all {
		if !p.Warning {
			e.Problems = append(e.Problems, p)
		}
	}
	return nil, e
}

// Check reads data as [Load] does and returns everything there is to say about it, warnings too. The Config is nil when
// one of the problems is not a warning.
func Check(name string, data []byte, r Reading) (*Config, []provider.Problem) {
	form := r.Form
	if form == Auto {
		form = formOf(name, data)
	}
	if form == CSI {
		return checkCSI(name, data, r)
	}
	return checkCloud(name, data, r)
}

// formOf guesses the form.
func formOf(name string, data []byte) Form {
	if !utf8.Valid(data) || len(data) > maxSize || !provider.LooksLikeINI(bytes.TrimPrefix(data, []byte("\uFEFF"))) {
		return Cloud
	}
	if strings.HasPrefix(filepath.Base(name), "csi-") {
		return CSI
	}
	sections, _ := provider.ReadINI(name, data)
	if slices.ContainsFunc(sections, onlyCSI) {
		return CSI
	}
	return Cloud
}

// concluded is a configuration with its warnings; nil when there is more than warnings.
func concluded(cfg *Config, all []provider.Problem) (*Config, []provider.Problem) {
	all = provider.SortProblems(all)
	for _, p := range all {
		if !p.Warning {
			return nil, all
		}
		cfg.Warnings = append(cfg.Warnings, p.String())
	}
	return cfg, all
}

func noClusterID(name, hint string) provider.Problem {
	return provider.Problem{File: name, Message: "there is no cluster-id, and none to take in its place", Hint: hint}
}

// file is the configuration file as it was last seen. It is looked at again and again, and not notified of: how a mounted
// Secret or ConfigMap is replaced depends on the kubelet, and a small file is read in microseconds.
type file struct {
	name string
	sum  [sha256.Size]byte
	err  string
}

func newFile(name string) *file {
	f := &file{name: name}
	_, _ = f.look()
	return f
}

// look says whether the file is another than the last time, or can be read no more, or again.
func (f *file) look() (different bool, err error) {
	data, err := readFile(f.name)
	sum, text := f.sum, ""
	if err != nil {
		text = err.Error()
	} else {
		sum = sha256.Sum256(data)
	}
	different = sum != f.sum || text != f.err
	f.sum, f.err = sum, text
	return different, err
}

// Key is one key of a csi-vsphere.conf, as a person looks it up.
type Key struct {
	// Section is its section, as it is written: [Global], [VirtualCenter "…"].
	Section string
	Name    string
	// Unused is why it has no effect here; empty where it has.
	Unused string
	// Shared: a vsphere.conf has it, too.
	Shared bool
}

// Reference lists every key that a csi-vsphere.conf may have, in the order of its sections. It is made of the tables that
// files are read by. A section that has no effect at all is a Key without a name.
func Reference() []Key {
	var all []Key
	for _, s := range sections() {
		title := "[" + s.name + "]"
		if s.sub {
			title = "[" + s.name + ` "…"]`
		}
		if s.unused != "" {
			all = append(all, Key{Section: title, Unused: s.unused})
		}
		for _, k := range s.keys {
			all = append(all, Key{Section: title, Name: k.name, Unused: k.unused, Shared: !s.csi && !k.csi})
		}
	}
	return all
}

// Config is a read, inherited and checked configuration. It is not changed once it is made.
type Config struct {
	// Form is the file's.
	Form Form
	// ClusterID tells this cluster's volumes from all others' in CNS; Distribution is shown beside it.
	ClusterID, Distribution string
	// VCenters are in the order of their names ([VCenter.Tenant]).
	VCenters []VCenter
	// Categories are the tag categories whose tags are topology, the wider before the narrower: region, zone.
	Categories []string
	// Labels are the topology keys of those categories that have another than topology.csi.vmware.com/<category>.
	Labels map[string]string
	// MigrationDatastores are the URLs of the datastores that in-tree volumes mean or go to where they do not say, in the
	// order of the vCenters that name one.
	MigrationDatastores []string
	// SnapshotLimit is how many snapshots a volume may have.
	SnapshotLimit int
	// Page is how many volumes are asked for at once.
	Page int
	// Warnings are for the operator: what is valid and has no effect, "FILE:LINE: KEY: why" each.
	Warnings []string
}

// VCenter is one vCenter to connect to, and where its credentials are: User and Password, a Secret, or a directory. Its
// name in the driver is Tenant.
type VCenter = provider.VCenter

// SecretRef names a Secret in the cluster.
type SecretRef = provider.SecretRef

// Form is a form of the file.
type Form string

// The forms. Auto looks at the file: one that is named csi-vsphere.conf, or has keys that only upstream's driver knows,
// is CSI.
const (
	Auto  Form = ""
	CSI   Form = "csi-vsphere.conf"
	Cloud Form = "vsphere.conf"
)

const (
	defaultSnapshots = 3    // upstream's
	mostSnapshots    = 32   // that vSphere keeps of a disk
	defaultPage      = 1000 // what CNS returns at most
)

// checkCloud makes the driver's configuration of the cloud controller manager's.
func checkCloud(name string, data []byte, r Reading) (*Config, []provider.Problem) {
	opts := []provider.Option{provider.WithEnvironment(r.Environment)}
	if r.DefaultSecrets != "" {
		opts = append(opts, provider.WithDefaultSecrets(r.DefaultSecrets))
	}
	from, all := provider.Check(name, data, opts...)
	if from == nil {
		return nil, all
	}
	if r.ClusterID == "" {
		all = append(all, noClusterID(name, "this form of the file has no place for one"))
	}
	cfg := &Config{Form: Cloud, ClusterID: r.ClusterID, VCenters: from.VCenters, SnapshotLimit: defaultSnapshots, Page: defaultPage}
	if from.Labels.Region != "" && from.Labels.Zone != "" { // half of them is told, and has no effect there either
		cfg.Categories = []string{from.Labels.Region, from.Labels.Zone}
	}
	return concluded(cfg, all)
}
