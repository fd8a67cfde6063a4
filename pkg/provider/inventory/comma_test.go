package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
)

// An entry with a comma is a datacenter of that name (kubernetes/cloud-provider-vsphere#482), else a list (rancher/vsphere-charts).
func TestCommaInDatacenter(t *testing.T) {
	x := newIndex()
	for ref, name := range map[string]string{"datacenter-1": "Lab - East, Rack 4", "datacenter-2": "Main", "datacenter-3": "Annex"} {
		x.entities[types.ManagedObjectReference{Type: "Datacenter", Value: ref}] = entity{name: name}
	}
	for want, is := range map[string][]string{
		"Lab - East, Rack 4": {"Lab - East, Rack 4"},
		"Main, Annex,":       {"Main", "Annex"},
		"Main,Anex":          {"Main", "Anex"}, // a typo is a datacenter that is not found
		"Main":               {"Main"},
	} {
		if diff := cmp.Diff(is, absent.Split([]string{want}, x.places())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want, diff)
		}
	}
}
