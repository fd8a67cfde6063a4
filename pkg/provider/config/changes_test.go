package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChanges(t *testing.T) {
	const before = "global: {user: u, password: p}\nvcenter: {a: {server: vc-a, datacenters: [x, y]}, a.b: {server: vc-b}}\nlabels: {region: r, zone: z}\n"
	for _, tc := range []struct {
		name, after string
		want        []string
	}{
		{"nothing", before, nil},
		{"another form", "[Labels]\nzone=z\nregion=r\n[VirtualCenter \"a\"]\nserver=vc-a\ndatacenters=x,y\nuser=u\npassword=p\n[VirtualCenter \"a.b\"]\nserver=vc-b\nuser=u\npassword=p\n", nil},
		{"a list", "global: {user: u, password: p}\nvcenter: {a: {server: vc-a, datacenters: [y, x]}, a.b: {server: vc-b}}\nlabels: {region: r, zone: z}\n", []string{"vcenter.a.datacenters"}},
		{"a global value", "global: {user: u, password: next, port: 1}\nvcenter: {a: {server: vc-a, datacenters: [x, y]}, a.b: {server: vc-b, port: 443}}\nlabels: {region: r, zone: z}\n", []string{"vcenter.a.b.password", "vcenter.a.password", "vcenter.a.port"}},
		{"came and went", "global: {user: u, password: p}\nvcenter: {a: {server: vc-a, datacenters: [x, y]}, c: {server: vc-c}}\nnodes: {internalVmNetworkName: n}\n", []string{"labels.region", "labels.zone", "nodes.internalVmNetworkName", "vcenter.a.b", "vcenter.c"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			from, err := Load("before", []byte(before))
			if err != nil {
				t.Fatal(err)
			}
			to, err := Load("after", []byte(tc.after))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Changes(from, to)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
