package explain

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// The rules of the provider's walk: nearest wins, each on its own; walks are not mixed; first by name.
func TestPlace(t *testing.T) {
	want := config.Labels{Region: "r", Zone: "z"}
	for _, tc := range []struct {
		name         string
		machine      VMState
		region, zone string
		found        bool
		steps        int
	}{
		{"nothing", VMState{FromHost: []Object{object("HostSystem", "h")}}, "", "", false, 1},
		{"nearest wins, each on its own", VMState{FromHost: []Object{
			object("HostSystem", "h", "z", "z1"), object("Datacenter", "d", "r", "r1", "z", "z2"), object("Folder", "root", "r", "r2"),
		}}, "r1", "z1", true, 2},
		{"then from the resource pool", VMState{
			FromHost: []Object{object("HostSystem", "h", "z", "z1")},
			FromPool: []Object{object("ResourcePool", "p", "r", "r2", "z", "z2")},
		}, "r2", "z2", true, 2},
		{"then from the VM", VMState{
			FromHost: []Object{object("HostSystem", "h")}, FromPool: []Object{object("ResourcePool", "p")},
			FromVM: []Object{object("VirtualMachine", "v", "z", "z3"), object("Folder", "f", "r", "r3")},
		}, "r3", "z3", true, 4},
		{"walks are not mixed", VMState{
			FromHost: []Object{object("HostSystem", "h", "z", "z1")}, FromVM: []Object{object("VirtualMachine", "v", "r", "r3")},
		}, "", "z1", false, 2},
		{"first by name", VMState{FromHost: []Object{object("HostSystem", "h", "z", "z2", "z", "z1", "r", "r1")}}, "r1", "z1", true, 1},
		{"other categories", VMState{FromHost: []Object{object("HostSystem", "h", "zone", "z1", "region", "r1")}}, "", "", false, 1},
		{"an object on two walks is told once", VMState{
			FromHost: []Object{object("HostSystem", "h"), object("Datacenter", "d")}, FromVM: []Object{object("VirtualMachine", "v"), object("Datacenter", "d")},
		}, "", "", false, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := place(tc.machine, want)
			if p.region != tc.region || p.zone != tc.zone || p.found != tc.found || len(p.steps) != tc.steps {
				t.Errorf("got %+v", p)
			}
		})
	}
}
