package env

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Var is an environment variable.
type Var struct{ Name, Value string }

// Names are the variables that are ever set.
func Names() []string {
	return []string{"KUBECONFIG", "GOVC_URL", "GOVC_USERNAME", "GOVC_PASSWORD", "GOVC_TLS_CA_CERTS", "GOVC_DATACENTER"}
}

// Vars returns the variables for a sandbox and one of its vCenters; "" chooses the first. It also returns the names of
// all vCenters, the chosen one first.
func Vars(ctx context.Context, t *command.Target, vcenter string) (vars []Var, vcenters []string, err error) {
	status, err := command.Ask(ctx, t, (*api.Client).Status)
	if err != nil {
		return nil, nil, err
	}
	access, err := Access(ctx, t, vcenter)
	if err != nil {
		return nil, nil, err
	}
	datacenters, err := command.Ask(ctx, t, (*api.Client).Datacenters)
	if err != nil {
		return nil, nil, err
	}
	vars = Govc(access[0], datacenters)
	if status.Kubeconfig != "" { // a sandbox may have vCenters only
		vars = append([]Var{{"KUBECONFIG", status.Kubeconfig}}, vars...)
	}
	vcenters = []string{access[0].VCenter}
	for _, v := range status.VCenters {
		if v.Name != access[0].VCenter {
			vcenters = append(vcenters, v.Name)
		}
	}
	return vars, vcenters, nil
}

// Access returns how to reach a vCenter, or with "" how to reach each of them. There is at least one.
func Access(ctx context.Context, t *command.Target, vcenter string) ([]api.Access, error) {
	all, err := command.Ask(ctx, t, (*api.Client).Access)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, &report.Error{
			Code: "unavailable", Message: fmt.Sprintf("sandbox %q has no vCenters yet", t.Name), Try: command.Program + " wait --for=ready",
		}
	}
	if vcenter == "" {
		return all, nil
	}
	var names []string
	for _, a := range all {
		if a.VCenter == vcenter {
			return []api.Access{a}, nil
		}
		names = append(names, a.VCenter)
	}
	notFound := &report.Error{Code: "not-found", Message: fmt.Sprintf("there is no vCenter %q", vcenter), Try: command.Program + " get vcenters"}
	if guess := nearest.Of(vcenter, names); guess != "" {
		notFound.Try = "--vcenter " + guess
	}
	return nil, notFound
}

// Govc returns the variables for one vCenter. The datacenter is set when the vCenter has only one, as govc itself would
// find it.
func Govc(a api.Access, datacenters []api.Datacenter) []Var {
	vars := []Var{
		{"GOVC_URL", a.URL}, {"GOVC_USERNAME", a.User}, {"GOVC_PASSWORD", a.Password}, {"GOVC_TLS_CA_CERTS", a.CAFile},
	}
	var paths []string
	for _, d := range datacenters {
		if d.VCenter == a.VCenter {
			paths = append(paths, d.Path)
		}
	}
	if len(paths) == 1 {
		vars = append(vars, Var{"GOVC_DATACENTER", paths[0]})
	}
	return vars
}
