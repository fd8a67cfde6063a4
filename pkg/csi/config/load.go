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

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// maxSize is far more than real files have, in case the path is wrong.
const maxSize = 1 << 20

// ReadOptions configures how a file is read. The zero value accepts both formats and reads nothing but the file.
type ReadOptions struct {
	Format Format
	// ClusterID is used if the file has none, as vsphere.conf never does. It must be the same at every start, such as the UID
	// of the Namespace kube-system. Without either, loading fails.
	ClusterID string
	// Environment overrides the file, "NAME=VALUE" each, as for the cloud controller manager and for upstream's driver.
	Environment []string
	// DefaultSecrets is the secrets directory for vCenters without configured credentials, if it exists.
	DefaultSecrets string
	// BeyondUpstream accepts, with a warning, what this driver can run with and upstream's cannot: many vCenters, and several
	// without a topology.
	BeyondUpstream bool
}

// LoadFile loads the named file. The error is a [*provider.Error] if the file is readable.
func LoadFile(name string, r ReadOptions) (*Config, error) {
	data, err := readFile(name)
	if err != nil {
		return nil, fmt.Errorf("driver config: %w", err)
	}
	return Load(name, data, r)
}

// readFile reads at most one byte more than maxSize.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSize+1))
}

// Load parses data; name is the file name in errors, which are of type [*provider.Error].
func Load(name string, data []byte, r ReadOptions) (*Config, error) {
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

// Check parses data as [Load] does and returns all problems, warnings included. The Config is nil if one of them is not a
// warning.
func Check(name string, data []byte, r ReadOptions) (*Config, []provider.Problem) {
	form := r.Format
	if form == Auto {
		form = FormatOf(name, data)
	}
	if form == CSI {
		return checkCSI(name, data, r)
	}
	return checkCloud(name, data, r)
}

// FormatOf detects the format of a file by its name and content: [CSI] or [Cloud].
func FormatOf(name string, data []byte) Format {
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

// result returns a configuration with its warnings, or nil if there are errors.
func result(cfg *Config, all []provider.Problem) (*Config, []provider.Problem) {
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
	return provider.Problem{File: name, Message: "cluster-id is missing, and no default is given", Hint: hint}
}

// file is the configuration file as last seen. It is polled, because how a mounted Secret or ConfigMap is replaced depends on
// the kubelet, and reading a small file takes microseconds.
type file struct {
	name string
	sum  [sha256.Size]byte
	err  string
}

func newFile(name string) *file {
	f := &file{name: name}
	_, _ = f.changed()
	return f
}

// changed reports whether the file has changed, or has become unreadable or readable.
func (f *file) changed() (different bool, err error) {
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

// Key describes one key of csi-vsphere.conf.
type Key struct {
	// Section is its section as written: [Global], [VirtualCenter "…"].
	Section string
	Name    string
	// Unused is why it has no effect here; empty if it has.
	Unused string
	// Shared reports that vsphere.conf has it too.
	Shared bool
}

// Reference lists every key of csi-vsphere.conf, in the order of its sections. It comes from the tables that the parser uses.
// A section without any effect is a Key without a name.
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

// Config is a parsed and validated configuration. It is immutable.
type Config struct {
	// Form is the format of the file.
	Form Format
	// ClusterID identifies this cluster's volumes in CNS; Distribution is shown next to it.
	ClusterID, Distribution string
	// VCenters are in the order of their names ([VCenter.Tenant]).
	VCenters []VCenter
	// Categories are the tag categories whose tags are topology, wider before narrower: region, zone.
	Categories []string
	// Labels are the topology keys of categories whose key is not topology.csi.vmware.com/<category>.
	Labels map[string]string
	// MigrationDatastores are the URLs of the default datastores for in-tree volumes, in the order of the vCenters that have
	// one.
	MigrationDatastores []string
	// SnapshotLimit is the maximum number of snapshots per volume.
	SnapshotLimit int
	// NetPermissions are the rights of clients to mount new file volumes; none mean that all clients may read and write.
	NetPermissions []volume.NetPermission
	// Page is the number of volumes per CNS query.
	Page int
	// Warnings list valid settings without effect, "FILE:LINE: KEY: why" each.
	Warnings []string
}

// VCenter is one vCenter, with its credentials or their source: User and Password, a Secret, or a directory. Tenant is its
// name in the driver.
type VCenter = provider.VCenter

// SecretRef identifies a Secret in the cluster.
type SecretRef = provider.SecretRef

// Format is the format of a file.
type Format string

// The formats. Auto detects the format: a file whose name begins with csi-, or with keys that only upstream's driver has, is
// CSI.
const (
	Auto  Format = ""
	CSI   Format = "csi-vsphere.conf"
	Cloud Format = "vsphere.conf"
)

const (
	defaultSnapshots = 3    // upstream's
	mostSnapshots    = 32   // vSphere's maximum per disk
	defaultPage      = 1000 // CNS's maximum
)

// checkCloud converts the cloud controller manager's configuration.
func checkCloud(name string, data []byte, r ReadOptions) (*Config, []provider.Problem) {
	opts := []provider.Option{provider.WithEnvironment(r.Environment)}
	if r.DefaultSecrets != "" {
		opts = append(opts, provider.WithDefaultSecrets(r.DefaultSecrets))
	}
	from, all := provider.Check(name, data, opts...)
	if from == nil {
		return nil, all
	}
	if r.ClusterID == "" {
		all = append(all, noClusterID(name, "this file format has no such key; set --cluster-id"))
	}
	cfg := &Config{Form: Cloud, ClusterID: r.ClusterID, VCenters: from.VCenters, SnapshotLimit: defaultSnapshots, Page: defaultPage}
	if from.Labels.Region != "" && from.Labels.Zone != "" { // one alone has a warning, and no effect there either
		cfg.Categories = []string{from.Labels.Region, from.Labels.Zone}
	}
	return result(cfg, all)
}
