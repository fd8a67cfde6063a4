package sandbox

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// faultKinds lists what can be broken, by theme.
func (s *Sandbox) faultKinds(context.Context) (any, error) {
	kinds := []api.FaultKind{}
	for _, theme := range catalogue.Themes() {
		for _, k := range theme.Kinds {
			row := faultKind(theme.Name, k)
			row.Unsupported = s.lacks(k)
			kinds = append(kinds, row)
		}
	}
	return kinds, nil
}

// lacks says why a kind cannot be injected here, whatever it happens to: what is known from the beginning. "" is for the rest,
// of which the injection tells.
func (s *Sandbox) lacks(k *fault.Kind) string {
	for _, n := range k.Needs {
		there := true
		switch n {
		case fault.Simulator:
			there = s.opts.Real == nil
		case fault.Kubelets, fault.Children, fault.Clustered:
			there = !s.opts.VCentersOnly
		}
		if !there {
			return "takes " + n.String() + ", which there is not here"
		}
	}
	if why := s.refuses(k); why != "" {
		return why
	}
	if s.opts.Real == nil || len(k.Needs) > 0 {
		return ""
	}
	switch k.Object {
	case fault.Host, fault.Cluster, fault.Datacenter, fault.Datastore:
		return "only a simulated vCenter can do that, and these are real"
	}
	return ""
}

// refuses says why the ground has a kind of fault not made, "" where it may be.
func (s *Sandbox) refuses(k *fault.Kind) string {
	if g, ok := s.ground.(ground.NodeSource); ok {
		return g.Lacks(k)
	}
	return ""
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
