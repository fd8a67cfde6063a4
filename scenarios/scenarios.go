// Package scenarios holds what comes with the binary: topologies, one YAML file each, which README.md beside them explains
// by example, and in folders by theme the scenarios that run on them, which docs/scenarios.md explains. It hands both out by
// name.
//
// Floor 0: it imports pkg/topology only.
package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
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
