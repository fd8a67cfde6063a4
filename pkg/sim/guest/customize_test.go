package guest

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
)

func TestCloudInit(t *testing.T) {
	prefixes := func(texts ...string) (all []netip.Prefix) {
		for _, text := range texts {
			all = append(all, netip.MustParsePrefix(text))
		}
		return all
	}
	const network = "network: {version: 2, ethernets: {nic0: {match: {macaddress: '00:50:56:0A:00:01'}, addresses: [10.0.0.1/20, '2001:db8::1/64', nonsense]}, nic1: {addresses: [10.9.0.1/8]}}}"
	for name, tc := range map[string]struct {
		identity types.BaseCustomizationIdentitySettings
		want     *Info
	}{
		"all of it": {
			&types.CustomizationCloudinitPrep{Metadata: "local-hostname: a.example\nhostname: b\n" + network},
			&Info{HostName: "a.example", Addresses: map[string][]netip.Prefix{"00:50:56:0a:00:01": prefixes("10.0.0.1/20", "2001:db8::1/64")}},
		},
		"the other name": {
			&types.CustomizationCloudinitPrep{Metadata: "hostname: b\n" + network},
			&Info{HostName: "b", Addresses: map[string][]netip.Prefix{"00:50:56:0a:00:01": prefixes("10.0.0.1/20", "2001:db8::1/64")}},
		},
		"no addresses": {&types.CustomizationCloudinitPrep{Metadata: "hostname: b"}, nil},
		"no YAML":      {&types.CustomizationCloudinitPrep{Metadata: "{"}, nil},
		"Linux":        {&types.CustomizationLinuxPrep{}, nil},
		"nothing":      {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, cloudInit(tc.identity), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
