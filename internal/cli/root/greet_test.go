package root

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Without a command the program greets, and knows of what is running: the VM that it proposes to power off is one of its
// own, never one of a real vCenter.
func TestGreeting(t *testing.T) {
	far, idle := clitest.ZonesUSEU(), clitest.ZonesUSEU()
	far.Status.Ground.Inventory = api.InventoryReal
	idle.VMs = idle.VMs[:1]
	for name, tc := range map[string]struct {
		server *clitest.Server
		others []command.Sandbox
	}{
		"greeting":          {},
		"greeting.running":  {server: clitest.Serve(t, clitest.ZonesUSEU())},
		"greeting.several":  {server: clitest.Serve(t, clitest.ZonesUSEU()), others: []command.Sandbox{{Name: "dead"}, {Name: "lab", Running: true}}},
		"greeting.real":     {server: clitest.Serve(t, far)},
		"greeting.noworker": {server: clitest.Serve(t, idle)},
	} {
		t.Run(name, func(t *testing.T) {
			e := clitest.NewEnv(tc.server)
			e.State.Items = append(e.State.Items, tc.others...)
			if exit := execute(t, e); exit != 0 {
				t.Errorf("exit status %d", exit)
			}
			clitest.Golden(t, name, e.Out.String())
		})
	}
}
