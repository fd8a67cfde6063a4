package sandbox

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// faultKinds lists what can be broken, by theme.
func (s *Sandbox) faultKinds(context.Context) (any, error) {
	kinds := []api.FaultKind{}
	for _, theme := range catalogue.Themes() {
		for _, k := range theme.Kinds {
			kinds = append(kinds, faultKind(theme.Name, k))
		}
	}
	return kinds, nil
}

func faultKind(theme string, k *fault.Kind) api.FaultKind {
	row := api.FaultKind{
		Name: k.Name, Theme: theme, Short: k.Short, Long: k.Long, Object: string(k.Object), Momentary: k.Momentary, Reported: k.Reported,
	}
	for _, n := range k.Needs {
		row.Needs = append(row.Needs, n.String())
	}
	for _, p := range k.Params {
		row.Params = append(row.Params, api.FaultParam{
			Name: p.Name, Short: p.Short, Type: string(p.Type), Default: p.Default, Required: p.Required, Choices: p.Choices,
		})
	}
	return row
}
