package absent

import (
	"testing"
)

func TestFind(t *testing.T) {
	present := Present{
		Datacenters: []Place{
			{Ref: "Datacenter:datacenter-2", Name: "DC-Nord", Path: "/DC-Nord"},
			{Ref: "Datacenter:datacenter-3", Name: "dc-one", Path: "/europe/de/dc-one"},
			{Ref: "Datacenter:datacenter-4", Name: "Lab - East, Rack 4", Path: "/Europe (West)/Süd/Lab - East, Rack 4"},
			{Ref: "Datacenter:datacenter-5", Name: "twin", Path: "/a/twin"},
			{Ref: "Datacenter:datacenter-6", Name: "twin", Path: "/b/twin"},
		},
		Categories: []string{"k8s-region", "k8s-zones"},
		Networks:   []string{"VM Network", "Storage"},
	}
	for _, tc := range []struct {
		name string
		want Wanted
		text string
	}{
		{"name, path and reference", Wanted{Datacenters: []string{"DC-Nord", "europe/de/dc-one", "/europe/de/dc-one/", "Datacenter:datacenter-3"}}, ""},
		{"typo (findings/cpi.md A5)", Wanted{Datacenters: []string{"DC-Nrod"}}, `datacenter "DC-Nrod" not found (did you mean "DC-Nord"?)`},
		{"comma split in two (kubernetes/cloud-provider-vsphere#482)", Wanted{Datacenters: []string{"Lab - East", "Rack 4"}}, `datacenter "Lab - East" not found (did you mean "Lab - East, Rack 4"?); datacenter "Rack 4" not found`},
		{"renamed folder (kubernetes-sigs/vsphere-csi-driver#3888)", Wanted{Datacenters: []string{"/emea/de/dc-one"}}, `datacenter "/emea/de/dc-one" not found (did you mean "/europe/de/dc-one"?)`},
		{"nothing near", Wanted{Datacenters: []string{"somewhere else"}}, `datacenter "somewhere else" not found`},
		{"two of one name", Wanted{Datacenters: []string{"/c/twin"}}, `datacenter "/c/twin" not found (did you mean "/a/twin"?)`},
		{"reference that is gone", Wanted{Datacenters: []string{"Datacenter:datacenter-99"}}, `datacenter "Datacenter:datacenter-99" not found`},
		{"category (findings/newcomer.md 16)", Wanted{Categories: []string{"k8s-region", "k8s-zone"}}, `tag category "k8s-zone" does not exist (did you mean "k8s-zones"?)`},
		{"one category for both", Wanted{Categories: []string{"zone", "zone"}}, `tag category "zone" does not exist`},
		{"network in another case", Wanted{Networks: []string{"vm network"}}, ""},
		{"network", Wanted{Networks: []string{"VM Netwok", ""}}, `network "VM Netwok" is not among the networks that guests report (did you mean "VM Network"?)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Join(Find(tc.want, present)); got != tc.text {
				t.Errorf("got  %s\nwant %s", got, tc.text)
			}
		})
	}
}

// What is unknown is not reported as absent.
func TestFindUnknown(t *testing.T) {
	want := Wanted{Datacenters: []string{"dc"}, Categories: []string{"zone"}, Networks: []string{"net"}}
	if got := Find(want, Present{}); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	if got := Find(want, Present{Datacenters: []Place{}, Categories: []string{}, Networks: []string{}}); len(got) != 3 {
		t.Errorf("got %v", got)
	}
}

func TestRenamed(t *testing.T) {
	places := []Place{{Ref: "Datacenter:datacenter-3", Name: "now", Path: "/f/now"}}
	names := Find(Wanted{Datacenters: []string{"before", "/f/before", "other"}}, Present{Datacenters: places})
	Renamed(names, places, func(name string) string {
		if name == "other" {
			return ""
		}
		return "Datacenter:datacenter-3"
	})
	const want = `datacenter "before" not found (it is called "now" now); datacenter "/f/before" not found (it is called "/f/now" now); datacenter "other" not found`
	if got := Join(names); got != want {
		t.Errorf("got %s", got)
	}
}
