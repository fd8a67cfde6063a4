package provider

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// The metadata of a node before and after its initialization.
func TestMetadata(t *testing.T) {
	vm := vmOf(t, "one", u1, "n1", "192.0.2.1")
	zone := inventory.Zone{Region: "eu", Zone: "eu-1"}
	missing := &inventory.MissingTagError{VM: vm, Categories: []string{`"k8s-zone"`}, Visited: []string{`HostSystem "h1"`}}
	unread := &inventory.MissingTagError{VM: vm, Err: errors.New("rest: 503")}
	want := func(z inventory.Zone, labels map[string]string) *cloudprovider.InstanceMetadata {
		return &cloudprovider.InstanceMetadata{
			ProviderID:   "vsphere://" + u1,
			InstanceType: "vsphere-vm.cpu-2.mem-4gb.os-ubuntu",
			NodeAddresses: []corev1.NodeAddress{
				{Type: corev1.NodeHostName, Address: "n1"},
				{Type: corev1.NodeInternalIP, Address: "192.0.2.1"},
				{Type: corev1.NodeExternalIP, Address: "192.0.2.1"},
			},
			Region: z.Region, Zone: z.Zone, AdditionalLabels: labels,
		}
	}
	fresh, served := uninitialized(node("n1", "", u1)), node("n1", "vsphere://"+u1, u1)
	served.Labels = map[string]string{corev1.LabelTopologyRegion: "us", corev1.LabelTopologyZone: "us-1"}
	labels := map[string]string{"example.org/pool": "blue"}

	for _, tc := range []struct {
		name    string
		node    *corev1.Node
		vm      *inventory.VM
		zone    inventory.Zone
		zoneErr error
		labels  map[string]string
		parity  Parity

		want   *cloudprovider.InstanceMetadata
		reason string
	}{
		{"complete", fresh, vm, zone, nil, nil, "", want(zone, nil), ""},
		{"no categories configured", fresh, vm, inventory.Zone{}, nil, nil, "", want(inventory.Zone{}, nil), ""},
		{"additional labels", fresh, vm, zone, nil, labels, "", want(zone, labels), ""},
		{"tag missing", fresh, vm, inventory.Zone{}, missing, nil, "", nil, ReasonZoneTagMissing},
		{"tags not read", fresh, vm, inventory.Zone{}, unread, nil, "", nil, ReasonZoneTagsUnknown},
		{"tag missing later", served, vm, inventory.Zone{}, missing, nil, "", want(inventory.Zone{Region: "us", Zone: "us-1"}, nil), ReasonZoneTagMissing},
		{"tag missing later, as upstream", served, vm, inventory.Zone{}, missing, nil, ParityUpstream, nil, ReasonZoneTagMissing},
		{"tag is no label", fresh, vm, inventory.Zone{Region: "eu", Zone: "rack 1"}, nil, nil, "", nil, ReasonZoneTagInvalid},
		{"tag is too long", fresh, vm, inventory.Zone{Region: strings.Repeat("x", 64), Zone: "z"}, nil, nil, "", nil, ReasonZoneTagInvalid},
		{"tag is no label, as upstream", fresh, vm, inventory.Zone{Region: "eu", Zone: "rack 1"}, nil, nil, ParityUpstream, want(inventory.Zone{Region: "eu", Zone: "rack 1"}, nil), ""},
		{"uuid not known", uninitialized(node("n1", "", "")), vmOf(t, "one", "", "n1", "192.0.2.1"), zone, nil, nil, "", nil, ReasonNodeUnserved},
		{"no hostname", fresh, vmOf(t, "one", u1, "", "192.0.2.1"), zone, nil, nil, "", nil, ReasonGuestNotReporting},
		{"no adapters", fresh, vmOf(t, "one", u1, "n1", ""), zone, nil, nil, "", nil, ReasonGuestNotReporting},
		{"off", served, vmOf(t, "one", u1, "n1", "192.0.2.1", off), zone, nil, nil, "", nil, ReasonGuestNotReporting},
		{"local addresses only", fresh, vmOf(t, "one", u1, "n1", "169.254.0.1"), zone, nil, nil, "", nil, "NoUsableAddress"},
		{"other family only", fresh, vmOf(t, "one", u1, "n1", "2001:db8::1"), zone, nil, nil, "", nil, "IPFamilyMissing"},
		{"neither addresses nor zone", fresh, vmOf(t, "one", u1, "n1", "169.254.0.1"), zone, missing, nil, "", nil, ReasonZoneTagMissing},
		{"not there", fresh, vmOf(t, "one", u2, "x", ""), zone, nil, nil, "", nil, ReasonVMNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			i := (&listIndex{vms: []*inventory.VM{tc.vm}, zone: tc.zone, zoneErr: tc.zoneErr}).over(tc.parity)
			i.labels = tc.labels
			got, err := i.metadata(tc.node)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (tc.reason == "") || err != nil && reasonOf(err) != tc.reason {
				t.Errorf("%v: reason %q, want %q", err, reasonOf(err), tc.reason)
			}
			if err != nil && strings.Contains(message(tc.node, err), "\n") {
				t.Errorf("several lines: %v", err)
			}
		})
	}
}

// Callers cannot change the labels of the next node.
func TestMetadataLabelsAreACopy(t *testing.T) {
	i := (&listIndex{vms: []*inventory.VM{vmOf(t, "one", u1, "n1", "192.0.2.1")}}).over("")
	i.labels = map[string]string{"a": "1"}
	m, err := i.metadata(node("n1", "", u1))
	if err != nil {
		t.Fatal(err)
	}
	m.AdditionalLabels["a"] = "2"
	if i.labels["a"] != "1" {
		t.Error("changed for every node")
	}
}
