package paravirtual

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

func uninitialized(n *corev1.Node) {
	n.Spec.ProviderID = ""
	n.Spec.Taints = []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
}

func address(kind corev1.NodeAddressType, a string) corev1.NodeAddress {
	return corev1.NodeAddress{Type: kind, Address: a}
}

func TestInstanceMetadata(t *testing.T) {
	host, v4, v6 := address(corev1.NodeHostName, "worker-0"), address(corev1.NodeInternalIP, "10.1.0.1"), address(corev1.NodeInternalIP, "fd00::1")
	id := "vsphere://" + uuid(0)
	for _, tc := range []struct {
		name   string
		family IPFamily
		vm     []func(object)
		node   func(*corev1.Node)
		want   *cloudprovider.InstanceMetadata
		err    string
	}{
		{name: "ipv4", want: &cloudprovider.InstanceMetadata{ProviderID: id, Zone: "zone-a", NodeAddresses: []corev1.NodeAddress{host, v4}}},
		{name: "ipv6", family: IPv6, want: &cloudprovider.InstanceMetadata{ProviderID: id, Zone: "zone-a", NodeAddresses: []corev1.NodeAddress{host, v6}}},
		{name: "both", family: IPv4IPv6, want: &cloudprovider.InstanceMetadata{ProviderID: id, Zone: "zone-a", NodeAddresses: []corev1.NodeAddress{host, v4, v6}}},
		{name: "both, ipv6 first", family: IPv6IPv4, want: &cloudprovider.InstanceMetadata{ProviderID: id, Zone: "zone-a", NodeAddresses: []corev1.NodeAddress{host, v6, v4}}},
		{
			name: "only the other family, as upstream", vm: []func(object){field(nil, "status", "network", "primaryIP4")},
			want: &cloudprovider.InstanceMetadata{ProviderID: id, Zone: "zone-a", NodeAddresses: []corev1.NodeAddress{host, v6}},
		},
		{
			name: "an address of its link", family: IPv4IPv6, vm: []func(object){field("fe80::1", "status", "network", "primaryIP6")},
			want: &cloudprovider.InstanceMetadata{ProviderID: id, Zone: "zone-a", NodeAddresses: []corev1.NodeAddress{host, v4}},
		},
		{
			name: "no label, but a zone in the status", vm: []func(object){field(nil, "metadata", "labels", "topology.kubernetes.io/zone"), field("zone-b", "status", "zone")},
			want: &cloudprovider.InstanceMetadata{ProviderID: id, Zone: "zone-b", NodeAddresses: []corev1.NodeAddress{host, v4}},
		},
		{
			name: "a region", vm: []func(object){field("eu", "metadata", "labels", "topology.kubernetes.io/region")},
			want: &cloudprovider.InstanceMetadata{ProviderID: id, Zone: "zone-a", Region: "eu", NodeAddresses: []corev1.NodeAddress{host, v4}},
		},
		{
			name: "by name alone", node: func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "" },
			want: &cloudprovider.InstanceMetadata{ProviderID: id, Zone: "zone-a", NodeAddresses: []corev1.NodeAddress{host, v4}},
		},
		{
			name: "by system uuid in the other byte order, in upper case", node: func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "03020142-0504-0706-0809-000000000000" },
			want: &cloudprovider.InstanceMetadata{ProviderID: id, Zone: "zone-a", NodeAddresses: []corev1.NodeAddress{host, v4}},
		},
		{name: "no UUID yet (CPI #545)", vm: []func(object){field("", "status", "biosUUID")}, err: "no BIOS UUID of it yet"},
		{name: "no address yet", vm: []func(object){field(nil, "status", "network")}, err: "no address of it yet"},
		{name: "off", vm: []func(object){field(nil, "status", "network"), field("PoweredOff", "status", "powerState")}, err: "it is off"},
		{name: "another cloud's", node: func(n *corev1.Node) { n.Spec.ProviderID = "aws:///i-1" }, err: "providerID is not one of vsphere"},
		{
			name: "no such VM", node: func(n *corev1.Node) { n.Name, n.Status.NodeInfo.SystemUUID = "x", "" },
			err: `no VirtualMachine with name x`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSupervisor(t)
			s.add(machine(0, tc.vm...), machine(1))
			r := start(t, s, func(o *Options) { o.IPFamily = tc.family }, true)
			n := newNode(0, uninitialized)
			if tc.node != nil {
				tc.node(n)
			}
			got, err := r.InstanceMetadata(t.Context(), n)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInstanceShutdown(t *testing.T) {
	s := newSupervisor(t)
	for i, state := range []string{"PoweredOn", "PoweredOff", "Suspended", "", "Odd"} {
		s.add(machine(i, field(state, "status", "powerState")))
	}
	r := start(t, s, nil, true)
	for i, want := range []string{"false", "true", "true", "reports no power state", `power state "Odd" is unknown`} {
		off, err := r.InstanceShutdown(t.Context(), newNode(i))
		got := map[bool]string{true: "true", false: "false"}[off]
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("vm %d: %s, want %s", i, got, want)
		}
	}
	// VM Operator observes a change.
	s.edit(t, "virtualmachines", "worker-0", field("PoweredOff", "status", "powerState"))
	eventually(t, "off", func() error {
		if off, err := r.InstanceShutdown(t.Context(), newNode(0)); err != nil || !off {
			return errWaiting
		}
		return nil
	})
	if n := s.count("list virtualmachines"); n != 1 {
		t.Errorf("%d lists: questions and changes cost none", n)
	}
}
