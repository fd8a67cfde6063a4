package provider

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	k8smetrics "k8s.io/component-base/metrics"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/address"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func TestInstanceMetadata(t *testing.T) {
	w := start(t, nil)
	w1 := &cloudprovider.InstanceMetadata{
		ProviderID:   "vsphere://" + w1UUID,
		InstanceType: "vsphere-vm.cpu-2.mem-4gb.os-ubuntu",
		NodeAddresses: []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: "w1"},
			{Type: corev1.NodeInternalIP, Address: "198.18.5.1"},
			{Type: corev1.NodeExternalIP, Address: "198.18.5.1"},
		},
		Region: "us", Zone: "us-west",
	}
	withIP := node("some-alias", "", "")
	withIP.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "2001:db8::5"}}
	annotated := node("some-alias", "", "")
	annotated.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": "192.0.2.1, 198.18.5.1"}
	labeled := node("some-alias", "", "")
	labeled.Labels = map[string]string{corev1.LabelHostname: "w1.example.org"}
	for _, tc := range []struct {
		name string
		node *corev1.Node
	}{
		{"provider id", node("some-alias", "vsphere://"+w1UUID, "")},
		{"provider id in upper case, with blanks", node("some-alias", " VSPHERE://"+strings.ToUpper(w1UUID)+" ", "")},
		{"provider id in the other byte order", node("some-alias", "vsphere://"+w1Swapped, "")},
		{"provider id before anything else", node("eu1", "vsphere://"+w1UUID, eu1UUID)},
		{"system uuid", node("some-alias", "", w1UUID)},
		{"system uuid in upper case and the other byte order", node("some-alias", "", strings.ToUpper(w1Swapped))},
		{"system uuid before the name", node("eu1", "", w1UUID)},
		{"name", node("w1", "", "")},
		{"name, with a uuid that nobody has", node("w1", "", unknown)},
		{"name, with a uuid that is none", node("w1", "", "not a uuid")},
		{"hostname label", labeled},
		{"address", withIP},
		{"provided address", annotated},
		{"name that is an address", node("198.18.5.1", "", "")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := w.InstanceMetadata(t.Context(), tc.node)
			if err != nil {
				t.Fatal(err)
			}
			want := *w1
			if _, isAddress := netip.ParseAddr(tc.node.Name); isAddress != nil { // see TestHostNameAddress
				want.NodeAddresses = slices.Clone(w1.NodeAddresses)
				want.NodeAddresses[0].Address = tc.node.Name
			}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, tc := range []struct {
		name string
		node *corev1.Node
		want string
	}{
		{"unknown", node("nobody", "", unknown), "vm not found"},
		{"foreign provider id", node("w1", "kind://docker/kind/w1", w1UUID), "not one of vsphere"},
		{"empty provider id", node("w1", "vsphere://", w1UUID), `providerID holds no uuid: "vsphere://"`},
		{"no zone", uninitialized(node("u1", "", "")), `no tag of category "k8s-region" or "k8s-zone" on any of HostSystem "h2"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, err := w.InstanceMetadata(t.Context(), tc.node); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, %v, want an error with %q", got, err, tc.want)
			}
		})
	}
}

// Errors where a node must not be deleted, for any node.
func TestInstanceExists(t *testing.T) {
	w := start(t, nil)
	for _, tc := range []struct {
		name  string
		node  *corev1.Node
		want  bool
		error bool
	}{
		{"there", node("w1", "vsphere://"+w1UUID, ""), true, false},
		{"there, other byte order", node("w1", "vsphere://"+w1Swapped, ""), true, false},
		{"there, by name", node("w1", "", ""), true, false},
		{"confirmed gone", node("w9", "vsphere://"+unknown, ""), false, false},
		{"unknown without provider id", node("w9", "", unknown), false, true},
		{"foreign", node("w9", "k3s://w9", unknown), false, true},
		{"aws", node("w9", "aws:///eu-1a/i-0abc", unknown), false, true},
		{"no uuid", node("w9", "vsphere://", ""), false, true},
		{"broken uuid", node("w9", "vsphere://4201", ""), false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := w.InstanceExists(t.Context(), tc.node)
			if got != tc.want || (err != nil) != tc.error {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestShutdownAndDestroy(t *testing.T) {
	w := start(t, nil)
	n := node("w1", "vsphere://"+w1UUID, "")
	shutdown := func(want bool) func() error {
		return func() error {
			got, err := w.InstanceShutdown(t.Context(), n)
			if err == nil && got != want {
				err = fmt.Errorf("got %v", got)
			}
			return err
		}
	}
	eventually(t, "on", shutdown(false))
	w.do(t, "/west/vm/w1", (*object.VirtualMachine).Suspend)
	eventually(t, "suspended is shut down", shutdown(true))
	w.do(t, "/west/vm/w1", (*object.VirtualMachine).PowerOn)
	eventually(t, "on again", shutdown(false))
	w.do(t, "/west/vm/w1", (*object.VirtualMachine).PowerOff)
	eventually(t, "off is shut down", shutdown(true))
	eventually(t, "no addresses from a guest that is off", func() error {
		if _, err := w.InstanceMetadata(t.Context(), n); err == nil {
			return errors.New("still some")
		}
		return nil
	})
	if exists, err := w.InstanceExists(t.Context(), n); err != nil || !exists {
		t.Errorf("off: exists %v, %v", exists, err)
	}
	w.do(t, "/west/vm/w1", (*object.VirtualMachine).Destroy)
	eventually(t, "gone", func() error {
		exists, err := w.InstanceExists(t.Context(), n)
		if err == nil && exists {
			err = errors.New("exists")
		}
		return err
	})
	if _, err := w.InstanceShutdown(t.Context(), n); !errors.Is(err, match.ErrNotFound) {
		t.Errorf("shutdown of a VM that is gone: %v", err)
	}
}

// While one vCenter is unreachable, nodes of the other work, and no absence is reported.
func TestOutage(t *testing.T) {
	w := start(t, nil)
	for _, state := range []gate.State{gate.Down, gate.Hung} {
		w.gate(t, "eu", state)
		eventually(t, "doubt", func() error {
			if _, err := w.InstanceMetadata(t.Context(), node("eu1", "vsphere://"+eu1UUID, "")); err == nil {
				return errors.New("eu1 still served")
			}
			return nil
		})
		began := time.Now()
		if _, err := w.InstanceMetadata(t.Context(), node("w1", "", w1UUID)); err != nil {
			t.Error(err)
		}
		// The name matches a VM on the reachable vCenter; the UUID may be on the other.
		if _, err := w.InstanceMetadata(t.Context(), node("w2", "", unknown)); err == nil {
			t.Error("bound by name although the VM of its UUID may be on the vCenter that is out")
		}
		byIP := node("some-alias", "", "")
		byIP.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "198.18.5.1"}}
		for what, n := range map[string]*corev1.Node{"name": node("w2", "", ""), "address": byIP, "name, with a uuid that is none": node("w2", "", "none")} {
			if _, err := w.InstanceMetadata(t.Context(), n); err == nil {
				t.Errorf("bound by %s although the vCenter that is out may have one too", what)
			}
		}
		for _, id := range []string{eu1UUID, unknown} {
			n := node("x", "vsphere://"+id, "")
			if exists, err := w.InstanceExists(t.Context(), n); exists || err == nil {
				t.Errorf("%s: exists %v, %v, want an error", state, exists, err)
			}
			if _, err := w.InstanceShutdown(t.Context(), n); err == nil {
				t.Errorf("%s: shutdown without an error", state)
			}
		}
		if d := time.Since(began); d > 2500*time.Millisecond {
			t.Errorf("%s: answers took %s", state, d)
		}
		// An outage that ends before the next check is not worth an event.
		eventually(t, "event", func() error {
			if len(w.events(t, ReasonUnreachable)) == 0 {
				return errors.New("none about the outage")
			}
			return nil
		})
		w.gate(t, "eu", gate.Up)
		eventually(t, "recovered", func() error {
			_, err := w.InstanceMetadata(t.Context(), node("eu1", "vsphere://"+eu1UUID, ""))
			return err
		})
	}
}

// A wrong password in the Secret causes an event without the password and no deletion, and can be fixed while running.
func TestWrongPassword(t *testing.T) {
	w := start(t, func(s *corev1.Secret) { s.Data["127.0.0.2.PASSWORD"] = []byte("hunter2-wrong") })
	n := node("eu1", "vsphere://"+eu1UUID, "")
	if _, err := w.InstanceMetadata(t.Context(), n); !errors.Is(err, vcenter.ErrInvalidLogin) {
		t.Errorf("got %v", err)
	}
	if exists, err := w.InstanceExists(t.Context(), n); exists || !errors.Is(err, vcenter.ErrInvalidLogin) {
		t.Errorf("exists %v, %v", exists, err)
	}
	if _, err := w.InstanceMetadata(t.Context(), node("w1", "", w1UUID)); err != nil {
		t.Errorf("a node on the other vCenter: %v", err)
	}
	var failed []corev1.Event
	eventually(t, "event", func() error {
		if failed = w.events(t, ReasonLoginFailed); len(failed) == 0 {
			return errors.New("none")
		}
		return nil
	})
	e := failed[0]
	if e.InvolvedObject.Kind != "Secret" || e.InvolvedObject.Name != "creds" || e.Namespace != "kube-system" || e.Type != corev1.EventTypeWarning {
		t.Errorf("event about %+v in %s, %s", e.InvolvedObject, e.Namespace, e.Type)
	}
	if strings.Contains(e.Message, "hunter2") || !strings.Contains(e.Message, "vCenter eu (127.0.0.2)") {
		t.Errorf("message %q", e.Message)
	}
	w.update(t, w.secret())
	eventually(t, "recovered", func() error {
		_, err := w.InstanceMetadata(t.Context(), n)
		return err
	})
	eventually(t, "recovery event", func() error {
		for _, e := range w.events(t, ReasonConnected) {
			if strings.Contains(e.Message, "vCenter eu") {
				return nil
			}
		}
		return errors.New("none")
	})
}

// A Secret that is created later, with or without the keys, is used when its watch delivers it.
func TestSecretLate(t *testing.T) {
	w := start(t, func(s *corev1.Secret) { s.Data = map[string][]byte{"unrelated": nil} })
	n := node("w1", "", "")
	if _, err := w.InstanceMetadata(t.Context(), n); !errors.Is(err, vcenter.ErrNoCredentials) ||
		!strings.Contains(err.Error(), "keys 127.0.0.1.username and 127.0.0.1.password are needed") {
		t.Errorf("got %v", err)
	}
	w.update(t, w.secret())
	eventually(t, "served", func() error {
		_, err := w.InstanceMetadata(t.Context(), n)
		return err
	})
}

func TestConcurrent(t *testing.T) {
	w := start(t, nil)
	done := make(chan error)
	for range 32 {
		go func() {
			var err error
			for range 50 {
				for _, n := range []*corev1.Node{node("w1", "", ""), node("w2", "", ""), node("x", "vsphere://"+eu1UUID, "")} {
					_, e := w.InstanceMetadata(context.Background(), n)
					err = errors.Join(err, e)
				}
			}
			done <- err
		}()
	}
	for range 32 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// After the stop channel closes, no session is left.
func TestLogout(t *testing.T) {
	w := start(t, nil)
	w.stop()
	var logouts int64
	for _, v := range w.sim.VCenters() {
		for _, s := range v.Gate().Stats() {
			if s.Method == "Logout" {
				logouts += s.Calls
			}
		}
	}
	if logouts != 2 {
		t.Errorf("%d logouts, want 2", logouts)
	}
}

// Lookups, confirmations, calls, reloads and the states of the vCenters are counted under their configured names; the probes report
// the same states.
func TestMetrics(t *testing.T) {
	registry := k8smetrics.NewKubeRegistry()
	w := follow(t, nil, func(o *Options) { o.Registry = registry })
	w.served(idNode("w1", w1UUID))
	w.served(node("u-w1", "", w1UUID))
	w.served(node("w2", "", ""))
	if exists, err := w.InstanceExists(t.Context(), idNode("x", unknown)); exists || err != nil {
		t.Fatalf("exists %v, %v", exists, err)
	}
	w.edit(func(c conf) { c.section("nodes")["internalVmNetworkName"] = "none" })
	w.expectEvent(ReasonConfigReloaded)

	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := strings.TrimPrefix(f.GetName(), "vsphere_ccm_")
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"lookups_total found provider_id": 1, "lookups_total found system_uuid": 1, "lookups_total found hostname": 1,
		"lookups_total not_found provider_id": 1, "confirmations_total gone": 1, "config_reloads_total applied": 1,
		"vcenter_connected us": 1, "inventory_synced eu": 1, "vcenter_calls_total Login ok us": 1,
	} {
		if got[name] < want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
	for _, s := range w.Health() {
		if !s.Connected || !s.Synced || s.Err != nil {
			t.Errorf("%+v", s)
		}
	}
}

// addressed returns a running VM with adapters on networks "lan" and "wan".
func addressed(lan, wan string) *inventory.VM {
	vm := &inventory.VM{VCenter: "vc", Name: "vm-1", HostName: "Node-1", Power: types.VirtualMachinePowerStatePoweredOn}
	vm.Ref.Value = "vm-42"
	vm.Adapters = guest.Adapters([]types.GuestNicInfo{
		{Network: "lan", DeviceConfigId: 4000, IpAddress: strings.Fields(lan)},
		{Network: "wan", DeviceConfigId: 4001, IpAddress: strings.Fields(wan)},
	})
	return vm
}

// hosting returns instances for a vCenter with these rules.
func hosting(nodes config.Nodes, parity Parity, families ...config.IPFamily) instances {
	return instances{inv: &listIndex{}, choices: choicesOf(parity), cfg: &config.Config{
		Nodes: nodes, VCenters: []config.VCenter{{Tenant: "other"}, {Tenant: "vc", IPFamilies: families}},
	}}
}

func nodeWithIP(ip string) *corev1.Node {
	n := &corev1.Node{}
	if ip != "" {
		n.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": ip}
	}
	return n
}

func nodeAddresses(pairs ...string) []corev1.NodeAddress {
	list := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "Node-1"}}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: pairs[i]}, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: pairs[i+1]})
	}
	return list
}

func TestAddresses(t *testing.T) {
	vm := addressed("10.0.0.100 10.0.0.1 2001:db8::1", "203.0.113.9")
	static := *vm
	static.Static = []netip.Addr{netip.MustParseAddr("203.0.113.9")}
	networks := config.Nodes{InternalVMNetwork: "lan", ExternalVMNetwork: "wan"}
	for _, tc := range []struct {
		name   string
		i      instances
		vm     *inventory.VM
		nodeIP string
		want   []corev1.NodeAddress
	}{
		{"the first", hosting(config.Nodes{}, ""), vm, "", nodeAddresses("10.0.0.100", "10.0.0.100")},
		{"families in their order", hosting(networks, "", config.IPv4), vm, "", nodeAddresses("10.0.0.100", "203.0.113.9")},
		{"two families", hosting(config.Nodes{}, "", config.IPv6, config.IPv4), vm, "", nodeAddresses("2001:db8::1", "2001:db8::1", "10.0.0.100", "10.0.0.100")},
		{"static", hosting(config.Nodes{}, ""), &static, "", nodeAddresses("203.0.113.9", "203.0.113.9")},
		{"node ip", hosting(networks, ""), vm, "10.0.0.1", nodeAddresses("10.0.0.1", "203.0.113.9")},
		{"node ips", hosting(config.Nodes{}, "", config.IPv4, config.IPv6), vm, "2001:db8::1, 10.0.0.1", nodeAddresses("10.0.0.1", "10.0.0.1", "2001:db8::1", "2001:db8::1")},
		{"node ip that is none", hosting(networks, ""), vm, "eth0", nodeAddresses("10.0.0.100", "203.0.113.9")},
		{"node ip, as upstream", hosting(networks, ParityUpstream), vm, "10.0.0.1", nodeAddresses("10.0.0.100", "203.0.113.9")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.i.addresses(tc.vm, nodeWithIP(tc.nodeIP))
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestAddressesProblems(t *testing.T) {
	vm := addressed("10.0.0.1 10.0.0.2", "203.0.113.9")
	silent := *vm
	silent.HostName, silent.Power = "", types.VirtualMachinePowerStatePoweredOff
	dark := *vm
	dark.Adapters = nil
	unreadable := *vm
	unreadable.StaticErr = errors.New("guestinfo.metadata: gone")
	elsewhere := *vm
	elsewhere.VCenter = "gone"
	subnet := config.Nodes{InternalSubnets: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	inside := config.Nodes{InternalSubnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for _, tc := range []struct {
		name    string
		i       instances
		vm      *inventory.VM
		nodeIP  string
		failed  bool
		reason  address.Reason // of the error, or of the warning
		message string
	}{
		{"no hostname", hosting(config.Nodes{}, ""), &silent, "", true, address.GuestNotReporting, "vm vm-1 (vm-42 in vcenter vc) does not run: it is off"},
		{"no adapters", hosting(config.Nodes{}, ""), &dark, "", true, address.GuestNotReporting, "vm vm-1 (vm-42 in vcenter vc) (poweredOn): guest reports no network adapters"},
		{"no address of a family", hosting(config.Nodes{}, "", config.IPv6), vm, "", true, address.IPFamilyMissing, "no usable ipv6 address"},
		{"metadata unreadable", hosting(config.Nodes{}, ""), &unreadable, "", true, address.StaticUnreadable, "guestinfo.metadata: gone"},
		{"vcenter not configured", hosting(config.Nodes{}, ""), &elsewhere, "", true, "", "vcenter is not configured"},
		{"subnet unmatched", hosting(subnet, ""), vm, "", false, address.SubnetUnmatched, "vm vm-1 (vm-42 in vcenter vc): no ipv4 address"},
		{"two warnings", hosting(subnet, ""), vm, "10.0.0.9", false, address.SubnetUnmatched, "; the kubelet's node IP 10.0.0.9 is none"},
		{"internal subnet alone", hosting(inside, ""), vm, "", false, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, warning, err := tc.i.selected(tc.vm, nodeWithIP(tc.nodeIP))
			if tc.failed != (err != nil) || tc.failed != (list == nil) {
				t.Fatalf("got %v, %v", list, err)
			}
			said := err
			if !tc.failed {
				said = warning
			}
			if tc.message == "" {
				if said != nil {
					t.Errorf("got %v, want nothing", said)
				}
				return
			}
			var p *address.Problem
			if !errors.As(said, &p) {
				p = &address.Problem{}
			}
			if p.Reason != tc.reason || !strings.Contains(said.Error(), tc.message) || strings.Contains(said.Error(), "\n") {
				t.Errorf("got %s: %v, want %s: %s", p.Reason, said, tc.reason, tc.message)
			}
		})
	}
}

// A warning about addresses is reported although the node is initialized.
func TestMetadataWithAddressWarning(t *testing.T) {
	vm := addressed("10.0.0.1", "")
	vm.UUID, _ = match.ParseUUID(u1)
	x := &listIndex{vms: []*inventory.VM{vm}}
	i := hosting(config.Nodes{InternalVMNetwork: "dmz"}, "")
	i.inv = x
	m, err := i.metadata(node("node-1", "vsphere://"+u1, ""))
	if m == nil || reasonOf(err) != string(address.VMNetworkUnmatched) || !strings.HasPrefix(err.Error(), `node "node-1": vm vm-1`) {
		t.Fatalf("got %v, %v", m, err)
	}
	if diff := cmp.Diff(nodeAddresses("10.0.0.1", "10.0.0.1"), m.NodeAddresses); diff != "" {
		t.Error(diff)
	}
}

func TestProvidedNodeIPs(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "10.0.0.1": {"10.0.0.1"}, "10.0.0.1, fd00::1": {"10.0.0.1", "fd00::1"}, "::ffff:10.0.0.1": {"10.0.0.1"}, "x,10.0.0.1,": {"10.0.0.1"},
	} {
		var ips []netip.Addr
		for _, s := range want {
			ips = append(ips, netip.MustParseAddr(s))
		}
		if diff := cmp.Diff(ips, providedNodeIPs(nodeWithIP(text)), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
