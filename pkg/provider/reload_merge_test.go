package provider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// vcs parses "tenant=server:datacenter,datacenter" for each vCenter.
func vcs(text string) *config.Config {
	cfg := &config.Config{}
	for field := range strings.FieldsSeq(text) {
		tenant, rest, _ := strings.Cut(field, "=")
		server, dcs, _ := strings.Cut(rest, ":")
		vc := config.VCenter{Tenant: tenant, Server: server, Port: 443}
		if dcs != "" {
			vc.Datacenters = strings.Split(dcs, ",")
		}
		cfg.VCenters = append(cfg.VCenters, vc)
	}
	return cfg
}

func TestMerged(t *testing.T) {
	for _, tc := range []struct{ name, inForce, wanted, want string }{
		{"same", "a=s1", "a=s1", "a=s1"},
		{"added", "b=s1", "a=s2 b=s1", "a=s2 b=s1"},
		{"removed", "a=s1 b=s2", "a=s1", "a=s1 b=s2"},
		{"removed and added", "a=s1", "b=s2", "a=s1 b=s2"},
		{"server changed", "a=s1", "a=s2", "a=s1"},
		{"server in another case", "a=s1", "a=S1", "a=S1"},
		{"renamed", "a=s1", "b=s1", "b=s1"},
		{"renamed, the name given to another", "a=s1", "a=s2 b=s1", "a=s2 b=s1"},
		{"renamed to one that is removed", "a=s1 b=s2", "b=s1", "a=s1 b=s2"},
		{"names swapped", "a=s1 b=s2", "a=s2 b=s1", "a=s1 b=s2"},
		{"datacenter added", "a=s1:x", "a=s1:x,y", "a=s1:x,y"},
		{"datacenters in another order", "a=s1:x,y", "a=s1:y,x", "a=s1:y,x"},
		{"all datacenters", "a=s1:x", "a=s1", "a=s1"},
		{"no longer all datacenters", "a=s1", "a=s1:x", "a=s1"},
		{"datacenter removed", "a=s1:x,y", "a=s1:x", "a=s1:x,y"},
		{"datacenter replaced", "a=s1:x", "a=s1:y", "a=s1:x"},
		// kubernetes/cloud-provider-vsphere#233: several connections to one vCenter.
		{"a second account added", "a=s1:x", "a=s1:x b=s1:y", "a=s1:x b=s1:y"},
		{"a second account, sorted first", "b=s1:x", "a=s1:y b=s1:x", "a=s1:y b=s1:x"},
		{"one of two accounts removed", "a=s1:x b=s1:y", "b=s1:y", "a=s1:x b=s1:y"},
		{"one of two accounts renamed", "a=s1:x b=s1:y", "b=s1:y c=s1:x", "b=s1:y c=s1:x"},
		{"both accounts renamed", "a=s1:x b=s1:y", "c=s1:y d=s1:x", "c=s1:y d=s1:x"},
		{"two accounts made one", "a=s1:x b=s1:y", "c=s1", "b=s1:y c=s1"},
		{"a datacenter moved from one account to the other", "a=s1:x,y b=s1:z", "a=s1:x b=s1:y,z", "a=s1:x,y b=s1:y,z"},
		{"datacenter corrected", "a=s1:x,typo", "a=s1:x,y", "a=s1:x,y"},
		{"datacenter that does not exist removed", "a=s1:x,typo", "a=s1:x", "a=s1:x,typo"},
		{"removed with a datacenter added elsewhere", "a=s1:x b=s2", "a=s1:x,y", "a=s1:x,y b=s2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wanted := vcs(tc.wanted)
			wanted.Labels = config.Labels{Region: "r", Zone: "z"}
			got := merged(vcs(tc.inForce), wanted, func(string) []absent.Name {
				return []absent.Name{{Kind: absent.Datacenter, Name: "typo"}, {Kind: absent.Category, Name: "x"}}
			})
			want := vcs(tc.want)
			want.Labels = wanted.Labels
			if diff := cmp.Diff(want.VCenters, got.VCenters); diff != "" {
				t.Error(diff)
			}
			if got.Labels != want.Labels {
				t.Errorf("labels %+v", got.Labels)
			}
		})
	}
}
