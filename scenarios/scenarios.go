// Package scenarios holds what comes with the binary: topologies, one YAML file each, which README.md beside them explains
// by example, and in folders by theme the scenarios that run on them, which docs/scenarios.md explains. It hands both out by
// name.
//
// Floor 0: it imports pkg/topology only.
package scenarios

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Default is the topology to use when none is asked for.
const Default = "zones-us-eu"

//go:embed *.yaml */*.yaml
var files embed.FS

// FS holds the files, each named after what it holds: zones-us-eu.yaml, lifecycle/power-off.yaml.
func FS() fs.FS { return files }

// Names lists the topologies in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the root of an embedded file system can always be read
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		if !entry.IsDir() {
			names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
		}
	}
	return names
}

// Read returns a topology's file as it was written, comments and all. For a name that there is not, the error wraps
// [fs.ErrNotExist] and lists those there are.
func Read(name string) ([]byte, error) {
	data, err := files.ReadFile(name + ".yaml")
	if err != nil || strings.Contains(name, "/") {
		return nil, fmt.Errorf("scenario %q: %w (there are: %s)", name, fs.ErrNotExist, strings.Join(Names(), ", "))
	}
	return data, nil
}

// Load returns a topology, resolved, with its parameters set. Errors are those of [Read], and of [topology.Load] for
// settings that it does not take.
func Load(name string, settings ...topology.Setting) (*topology.Topology, error) {
	if _, err := Read(name); err != nil {
		return nil, err
	}
	return topology.LoadFS(files, name+".yaml", settings...)
}

// LoadFrom returns a topology from any source: the name of a built-in one, its text, which has more than one line, or else the
// path of a file.
func LoadFrom(source string, settings ...topology.Setting) (*topology.Topology, error) {
	switch {
	case slices.Contains(Names(), source):
		return Load(source, settings...)
	case strings.Contains(source, "\n"):
		return topology.Load("topology", []byte(source), settings...)
	}
	return topology.LoadFile(source, settings...)
}

// Entry is a scenario of the catalogue: a file of kind Scenario. Package scenario reads it.
type Entry struct {
	// Name is the file's name without .yaml, and the scenario's. No two have the same.
	Name string
	// Theme is the folder that it is in: lifecycle, zones.
	Theme string
	// Path is its path in [FS].
	Path string
}

// Catalogue lists the scenarios by theme, and within each by name.
func Catalogue() []Entry {
	found, err := fs.Glob(files, "*/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	entries := make([]Entry, 0, len(found))
	for _, file := range found {
		entries = append(entries, Entry{Name: strings.TrimSuffix(path.Base(file), ".yaml"), Theme: path.Dir(file), Path: file})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries
}

// Themes lists the folders of the catalogue.
func Themes() []string {
	var themes []string
	for _, e := range Catalogue() {
		if !slices.Contains(themes, e.Theme) {
			themes = append(themes, e.Theme)
		}
	}
	return themes
}

// Find finds a scenario of the catalogue by name, or by theme/name. For a name that there is not, the error wraps
// [fs.ErrNotExist].
func Find(name string) (Entry, error) {
	for _, e := range Catalogue() {
		if name == e.Name || name == e.Theme+"/"+e.Name {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("scenario %q: %w in the catalogue", name, fs.ErrNotExist)
}

// Holds reports whether a file is, byte for byte, a scenario of the catalogue.
func Holds(file []byte) bool {
	return slices.ContainsFunc(Catalogue(), func(e Entry) bool {
		info, err := fs.Stat(files, e.Path)
		if err != nil || info.Size() != int64(len(file)) {
			return false
		}
		data, err := files.ReadFile(e.Path)
		return err == nil && bytes.Equal(data, file)
	})
}
