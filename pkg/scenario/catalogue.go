package scenario

import (
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// LoadCatalogue loads a scenario of the catalogue: by name, or by theme/name. For a name that there is not, the error
// wraps [fs.ErrNotExist] and tells what was probably meant.
func LoadCatalogue(name string, settings ...topology.Setting) (*Scenario, error) {
	entry, err := scenarios.Find(name)
	if err != nil {
		var names []string
		for _, e := range scenarios.Catalogue() {
			names = append(names, e.Name)
		}
		if near := nearest.Of(name, names); near != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, near)
		}
		return nil, err
	}
	return loadEntry(entry, settings)
}

func loadEntry(entry scenarios.Entry, settings []topology.Setting) (*Scenario, error) {
	s, err := LoadFS(scenarios.FS(), entry.Path, settings...)
	if err != nil {
		return nil, err
	}
	s.Theme = entry.Theme
	return s, nil
}

// Catalogue loads all scenarios that come with the program, by theme and name. Those that cannot be loaded are left out,
// and told in the error.
func Catalogue() ([]*Scenario, error) {
	var all []*Scenario
	var errs []error
	for _, entry := range scenarios.Catalogue() {
		s, err := loadEntry(entry, nil)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, s)
	}
	return all, errors.Join(errs...)
}
