package address_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
)

// The messages in situations from bug reports; numbers are issues of kubernetes/cloud-provider-vsphere.
func TestProblems(t *testing.T) {
	const (
		all  = "10.0.0.1, 10.0.0.2, 203.0.113.9"
		hint = "guest tools report 16 adapters at most: name the vm's own in primary-nics, or others in exclude-nics, in the guest's tools.conf"
	)
	crowd := strings.Repeat("-veth 10.244.0.9 | ", 16)
	for _, tc := range []struct{ name, adapters, rules, want string }{
		{
			"#772, #398: tools stopped", "", "",
			"guest reports no network adapters: VMware Tools (open-vm-tools) does not run in it, or has not started yet",
		},
		{
			"#338: the VM's own adapter is the 17th", crowd, "",
			"guest reports no usable address: its 16 adapters were all made in the guest (by a CNI, say), none is the vm's; " + hint,
		},
		{
			"#338: it has lost the family", crowd + "lan 2001:db8::1", "",
			"guest reports no usable ipv4 address, which the vcenter's ip family (ipv4) asks for, but 2001:db8::1; " + hint,
		},
		{"#389: no addresses yet", "lan", "v=6", "guest reports no usable address: the vm's adapters have none"},
		{
			"#389: local addresses alone", "lan fe80::1 169.254.3.4", "v=6",
			"guest reports no usable address: the vm's adapters have only local ones (fe80::1, 169.254.3.4)",
		},
		{
			"#302, #312: dual stack without ipv6", "lan 10.0.0.1 fe80::1", "v=46",
			"guest reports no usable ipv6 address, which the vcenter's ip family (ipv4, ipv6) asks for, but 10.0.0.1",
		},
		{
			"#270: on neither network", two, "in-net=pods ex-net=dmz",
			`vm is on neither of the networks "pods" (internal) and "dmz" (external), but on "lan", "wan"`,
		},
		{
			"#270: on one of both", two, "in-net=pods ex-net=wan",
			`guest reports no ipv4 address on the internal VM network "pods" that is not excluded; vm is on "lan", "wan"` + "\n" +
				"node has the external ipv4 address 203.0.113.9 and no internal one: none is where it is configured to be",
		},
		{
			"#270: subnets of another site", two, "in=172.16.0.0/12 ex=198.51.100.0/24,192.0.2.0/24",
			"no ipv4 address that the guest reports (" + all + ") is in the internal network subnets (172.16.0.0/12) and not excluded\n" +
				"no ipv4 address that the guest reports (" + all + ") is in the external network subnets (198.51.100.0/24, 192.0.2.0/24) and not excluded",
		},
		{
			"#270: internal ones alone", two, "in=10.0.0.0/8",
			"node has the internal ipv4 address 10.0.0.1 and no external one: none is where it is configured to be",
		},
		{
			"excluded altogether", two, "not-in=0.0.0.0/0 not-ex=10.0.0.0/8,203.0.113.0/24",
			"every ipv4 address of the guest (" + all + ") is in an excluded internal network subnet (0.0.0.0/0) and in an excluded external one (10.0.0.0/8, 203.0.113.0/24)",
		},
		{
			"#1455: node IP on no adapter", one, "node=10.0.0.9",
			"the kubelet's node IP 10.0.0.9 is none of the usable addresses that the guest reports (10.0.0.1): the node cannot be initialized",
		},
		{
			"#338, #1455: node IP on the 17th adapter", crowd + one, "node=10.0.0.9",
			"the kubelet's node IP 10.0.0.9 is none of the usable addresses that the guest reports (10.0.0.1): the node cannot be initialized; " + hint,
		},
		{
			"#1455: node IP excluded", two, "node=10.0.0.2 not-in=10.0.0.2/32 not-ex=10.0.0.2/32",
			"the kubelet's node IP 10.0.0.2 is in an excluded internal network subnet (10.0.0.2/32), and no rule makes it the external address: " +
				"the node cannot be initialized",
		},
		{
			"#1455: node IP against the subnets", two, "node=10.0.0.2 in=203.0.113.0/24 ex=203.0.113.0/24",
			"the kubelet's node IP 10.0.0.2 is the internal address, though the configuration (internal network subnets 203.0.113.0/24) says 203.0.113.9",
		},
		{
			"#1455: node IP against subnet and network", two, "node=203.0.113.9 in=172.16.0.0/12 in-net=lan ex-net=lan",
			"no ipv4 address that the guest reports (" + all + ") is in the internal network subnets (172.16.0.0/12) and not excluded\n" +
				`the kubelet's node IP 203.0.113.9 is the internal address, though the configuration (internal network subnets 172.16.0.0/12, internal VM network "lan") says 10.0.0.1`,
		},
		{
			"#1455: node IP in place of none", two, "node=10.0.0.2 ex=203.0.113.0/24",
			"the kubelet's node IP 10.0.0.2 is the internal address, though the configuration finds none",
		},
		{
			"#1455: node IP of a family that is not configured", two, "node=2001:db8::1",
			"the kubelet's node IP 2001:db8::1 is an ipv6 address, and the vcenter's ip family is ipv4: the node cannot be initialized",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := address.Select(address.Guest{Adapters: adapters(tc.adapters)}, rules(t, tc.rules))
			var said []string
			if err != nil {
				said = append(said, err.Error())
			}
			for _, w := range s.Warnings {
				said = append(said, w.Message)
			}
			if diff := cmp.Diff(strings.Split(tc.want, "\n"), said); diff != "" {
				t.Error(diff)
			}
		})
	}
}
