package up

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// still is a sandbox that is up, without nodes.
type still struct{}

func (still) Run(context.Context, func()) error { return nil }
func (still) Log() *event.Log                   { return event.NewLog(0) }
func (still) Status() api.Status                { return api.Status{} }
func (still) Nodes() []api.Node                 { return nil }

// The suggested commands work, and break nothing of the user's.
func TestNext(t *testing.T) {
	single, err := source.Load("up", "single", nil)
	if err != nil {
		t.Fatal(err)
	}
	spaced, err := topology.Load("spaced.yaml", []byte(strings.Replace(tiny, "name: worker-1,", "name: my worker, hostname: w1,", 1)))
	if err != nil {
		t.Fatal(err)
	}
	none, err := topology.Load("none.yaml", []byte(strings.Replace(tiny, ", role: worker", "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	broken := func(vm string) string {
		return `
  vsphere-sandbox kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone
  vsphere-sandbox vm power-off ` + vm + `
  vsphere-sandbox events -f
`
	}
	looked := `
  vsphere-sandbox get nodes
  vsphere-sandbox get vms
  vsphere-sandbox events -f
`
	for name, tc := range map[string]struct {
		o    options
		want string
	}{
		"a worker":                         {options{topology: single}, broken("worker-1")},
		"a worker for a shell to quote":    {options{topology: spaced}, broken("'my worker'")},
		"no worker":                        {options{topology: none}, looked},
		"real vCenters":                    {options{topology: single, real: &real.Options{}}, looked},
		"real vCenters that were detached": {options{real: &real.Options{}, detach: true}, looked},
		"vCenters alone": {options{topology: single, name: "lab", alone: &VCenters{}}, `
  eval "$(vsphere-sandbox --name lab env)"
  vsphere-sandbox --name lab govc ls
  vsphere-sandbox --name lab events -f
`},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.o.name == "" {
				tc.o.name = "default"
			}
			if d := cmp.Diff(tc.want, next(&tc.o)); d != "" {
				t.Error(d)
			}
		})
	}
}

// In the foreground the terminal is taken: what is next is for another one.
func TestAnnounce(t *testing.T) {
	single, err := source.Load("up", "single", nil)
	if err != nil {
		t.Fatal(err)
	}
	e := clitest.NewEnv(nil)
	o := &options{Deps: e.Deps, name: "default", topology: single, format: output.Plain}
	if err := announce(t.Context(), o, still{}); err != nil {
		t.Fatal(err)
	}
	want := `
In a second terminal:

  vsphere-sandbox kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone
  vsphere-sandbox vm power-off worker-1
  vsphere-sandbox events -f

Ctrl-C stops it.
`
	if d := cmp.Diff(want, e.Err.String()); d != "" {
		t.Error(d)
	}
}
