package config

import (
	"bytes"
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
