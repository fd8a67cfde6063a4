package provider

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// The VM of a node by our rules and by upstream's: the name of the VM or the error.
func TestFind(t *testing.T) {
	plain := []*inventory.VM{vmOf(t, "one", u1, "n1", "192.0.2.1"), vmOf(t, "two", u2, "n2.example.org", "192.0.2.2")}
	out := vcenter.ErrNotConnected
	notFound, ambiguous := match.ErrNotFound, match.ErrAmbiguous
	withIP := node("alias", "", "")
	withIP.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.2"}}
	withOwnUUID := withIP.DeepCopy()
	withOwnUUID.Status.NodeInfo.SystemUUID = uUnknown
	labeled := node("alias", "", "")
	labeled.Labels = map[string]string{corev1.LabelHostname: "n1"}
	hostAddress := node("alias", "", "")
	hostAddress.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "n1"}}

	for _, tc := range []struct {
		name           string
		vms            []*inventory.VM
		doubt          error
		node           *corev1.Node
		ours, upstream any
	}{
		// The providerID alone decides.
		{"providerID", plain, nil, node("n2", "vsphere://"+u1, u2), "one", "one"},
		{"providerID, other byte order", plain, nil, node("n1", "vsphere://"+u1Swapped, ""), "one", "one"},
		{"providerID, upper case and blanks", plain, nil, node("n1", " VSPHERE://01020304-0506-0708-8090-A0B0C0D0E0F0 ", ""), "one", "one"},
		{"providerID without a prefix", plain, nil, node("n1", u1, ""), "one", "one"},
		{"providerID that nobody has, and a known name", plain, nil, node("n1", "vsphere://"+uUnknown, ""), notFound, notFound},
		{"providerID of kind", plain, nil, node("n1", "kind://docker/kind/n1", u1), match.ErrForeignProviderID, notFound},
		{"providerID of k3s", plain, nil, node("n1", "k3s://n1", u1), match.ErrForeignProviderID, notFound},
		{"providerID of aws", plain, nil, node("n1", "aws:///eu-1a/i-0abc", u1), match.ErrForeignProviderID, notFound},
		{"providerID with nothing in it", plain, nil, node("n1", "vsphere://", u1), match.ErrInvalidProviderID, match.ErrInvalidProviderID},
		{"providerID with half a uuid", plain, nil, node("n1", "vsphere://01020304", u1), match.ErrInvalidProviderID, match.ErrInvalidProviderID},
		{"providerID while a vcenter is out", plain, out, node("n1", "vsphere://"+u1, ""), "one", "one"},
		{"providerID unknown while a vcenter is out", plain, out, node("n1", "vsphere://"+uUnknown, ""), out, out},

		// Without a providerID: the system UUID.
		{"system uuid", plain, nil, node("n1", "", u1), "one", "one"},
		{"system uuid, other byte order", plain, nil, node("n1", "", u1Swapped), "one", "one"},
		{"system uuid, node's name is another", plain, nil, node("alias", "", u1), "one", notFound},
		{"system uuid before the name of another VM", plain, nil, node("n2.example.org", "", u1), "one", "two"},
		{"system uuid while a vcenter is out", plain, out, node("n1", "", u1), "one", "one"},
		{"system uuid unknown while a vcenter is out", plain, out, node("n1", "", uUnknown), out, "one"},
		{"system uuid that is none", plain, nil, node("n1", "", "not a uuid"), "one", "one"},

		// Next the name.
		{"name", plain, nil, node("n1", "", uUnknown), "one", "one"},
		{"name, other case", []*inventory.VM{vmOf(t, "win", u1, "WIN-1", "192.0.2.1")}, nil, node("win-1", "", ""), "win", notFound},
		{"name short, guest full", plain, nil, node("n2", "", ""), "two", notFound},
		{"name full, guest short", plain, nil, node("n1.example.org", "", ""), "one", notFound},
		{"hostname label", plain, nil, labeled, "one", notFound},
		{"hostname that the kubelet reports", plain, nil, hostAddress, "one", notFound},
		{"name while a vcenter is out", plain, out, node("n1", "", ""), out, "one"},
		{"nobody", plain, nil, node("n9", "", uUnknown), notFound, notFound},
		{"guest without a hostname", []*inventory.VM{vmOf(t, "mute", u1, "", "")}, nil, node("mute", "", ""), notFound, notFound},

		// Next addresses.
		{"name that is an address", plain, nil, node("192.0.2.2", "", ""), "two", "two"},
		{"address that the kubelet reports", plain, nil, withIP, "two", notFound},
		{"address while a vcenter is out", plain, out, withIP, out, out},
		{"address of a machine that is no VM of theirs", plain, nil, withOwnUUID, notFound, notFound},
		{"name that is an address, with a uuid that nobody has", plain, nil, node("192.0.2.2", "", uUnknown), "two", "two"},

		// Several VMs.
		{"two of one name in one datacenter", []*inventory.VM{
			vmOf(t, "one", u1, "n", ""), vmOf(t, "two", u2, "n", ""),
		}, nil, node("n", "", ""), ambiguous, ambiguous},
		{"two of one name in two datacenters", []*inventory.VM{
			vmOf(t, "two", u2, "n", "", inDatacenter("x")), vmOf(t, "one", u1, "n", ""),
		}, nil, node("n", "", ""), ambiguous, "one"},
		{"two of one name at two vcenters", []*inventory.VM{
			vmOf(t, "one", u1, "n", "", inVCenter("b")), vmOf(t, "two", u2, "n", ""),
		}, nil, node("n", "", ""), ambiguous, "two"},
		{"two of one name, told apart by system uuid", []*inventory.VM{
			vmOf(t, "one", u1, "n", ""), vmOf(t, "two", u2, "n", ""),
		}, nil, node("n", "", u2), "two", "two"},
		{"two of one name, one of them in full", []*inventory.VM{
			vmOf(t, "one", u1, "n", ""), vmOf(t, "two", u2, "n.example.org", ""),
		}, nil, node("n", "", ""), "one", "one"},
		{"two of one uuid, told apart by name", []*inventory.VM{
			vmOf(t, "one", u1, "n1", ""), vmOf(t, "two", u1, "n2", ""),
		}, nil, node("n2", "vsphere://"+u1, ""), "two", "one"},
		{"one registered twice, the host of one of them lost", []*inventory.VM{
			vmOf(t, "lost", u1, "n1", "", inState(types.VirtualMachineConnectionStateDisconnected)), vmOf(t, "alive", u1, "n1", ""),
		}, nil, node("n1", "vsphere://"+u1, ""), "alive", "alive"},
		{"two of one name, the host of one of them lost", []*inventory.VM{
			vmOf(t, "lost", u1, "n1", "", inState(types.VirtualMachineConnectionStateDisconnected)), vmOf(t, "alive", u2, "n1", ""),
		}, nil, node("n1", "", ""), ambiguous, ambiguous},
		{"two of one uuid", []*inventory.VM{
			vmOf(t, "one", u1, "n1", ""), vmOf(t, "two", u1, "n2", ""),
		}, nil, node("n3", "vsphere://"+u1, ""), ambiguous, "one"},
		{"uuid exactly before swapped", []*inventory.VM{
			vmOf(t, "swapped", u1Swapped, "n", ""), vmOf(t, "exact", u1, "n", ""),
		}, nil, node("n", "", u1), "exact", "swapped"},

		// Templates.
		{"template by system uuid", []*inventory.VM{vmOf(t, "tpl", u1, "n", "", template)}, nil, node("n", "", u1), notFound, "tpl"},
		{"template by name", []*inventory.VM{vmOf(t, "tpl", u1, "n", "", template)}, nil, node("n", "", ""), notFound, "tpl"},
		{"template and VM of one name", []*inventory.VM{
			vmOf(t, "tpl", u1, "n", "", template), vmOf(t, "vm", u2, "n", ""),
		}, nil, node("n", "", ""), "vm", ambiguous},
		{"template and VM of one uuid", []*inventory.VM{
			vmOf(t, "tpl", u1, "", "", template), vmOf(t, "vm", u1, "n", ""),
		}, nil, node("x", "vsphere://"+u1, ""), "vm", "tpl"},
		{"node whose VM was made a template", []*inventory.VM{vmOf(t, "tpl", u1, "", "", template)}, nil, node("n", "vsphere://"+u1, ""), "tpl", "tpl"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := &listIndex{vms: slices.Clone(tc.vms), doubt: tc.doubt}
			for range 2 { // and in reverse: the result does not depend on the order
				expectVM(t, "ours", x.over(""), tc.node, tc.ours)
				expectVM(t, "upstream", x.over(ParityUpstream), tc.node, tc.upstream)
				slices.Reverse(x.vms)
			}
		})
	}
}

func expectVM(t *testing.T, whose string, i instances, n *corev1.Node, want any) {
	t.Helper()
	vm, err := i.find(n)
	switch want := want.(type) {
	case string:
		if err != nil || vm.Name != want {
			t.Errorf("%s: got %v, %v; want %s", whose, vm, err, want)
		}
	case error:
		if vm != nil || !errors.Is(err, want) {
			t.Errorf("%s: got %v, %v; want %v", whose, vm, err, want)
		}
	}
}

// A VM that was created again under the same name is used for the new Node: nothing of the old one is remembered
// (kubernetes/cloud-provider-vsphere#397, #501, #759).
func TestFindRecreated(t *testing.T) {
	x := &listIndex{vms: []*inventory.VM{vmOf(t, "old", u1, "n", "")}}
	i := x.over("")
	expectVM(t, "before", i, node("n", "", u1), "old")
	x.vms = []*inventory.VM{vmOf(t, "new", u2, "n", "")}
	expectVM(t, "a new Node", i, node("n", "", u2), "new")
	expectVM(t, "a new Node that has told no uuid", i, node("n", "", ""), "new")
	expectVM(t, "the old Node", i, node("n", "vsphere://"+u1, u1), match.ErrNotFound)
	// A kubelet on another VM than that of the providerID, which still exists.
	x.vms = append(x.vms, vmOf(t, "old", u1, "n", "192.0.2.1"))
	if m, err := i.metadata(node("n", "vsphere://"+u1, u2)); m == nil || reasonOf(err) != ReasonStaleProviderID {
		t.Errorf("got %v, %v", m, err)
	}
	x.vms = x.vms[:1]
	// The kubelet of the new VM took over the old Node, whose providerID cannot be changed.
	_, err := i.find(node("n", "vsphere://"+u1, u2))
	var stale *match.StaleError
	if !errors.As(err, &stale) || !strings.HasPrefix(stale.RunsOn, "new ") || reasonOf(err) != ReasonStaleProviderID {
		t.Errorf("got %v", err)
	}
}
