package sim_test

import (
	"context"
	"encoding/base64"
	"net/netip"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const clonesTopology = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: clones}
spec:
  vcenters:
    - name: vc
      reactions: {guest: {boot: 100ms}}
      datacenters:
        - name: dc
          networks: [{name: net, cidr: 10.7.0.0/24}]
          datastores: [{name: ds}]
          clusters: [{name: c, hosts: [{name: h}]}]
          vms:
            - {name: gold, cluster: c, template: yes}
            - {name: bare, cluster: c, template: yes, tools: no}
            - {name: runs, cluster: c}
`

// TestClonesBoot: a clone has its source's guest, with its own name and address, after its boot.
func TestClonesBoot(t *testing.T) {
	lab := sim.Start(t, clonesTopology)
	c := lab.Client("vc")
	finder := find.NewFinder(c.Client)
	dc, err := finder.Datacenter(t.Context(), "dc")
	if err != nil {
		t.Fatal(err)
	}
	finder.SetDatacenter(dc)
	folders, err := dc.Folders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pool, err := finder.ResourcePool(t.Context(), "c/Resources")
	if err != nil {
		t.Fatal(err)
	}
	vm := func(name string) *object.VirtualMachine {
		v, err := finder.VirtualMachine(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	made := func(task *object.Task, err error) *object.VirtualMachine {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		info, err := task.WaitForResult(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return object.NewVirtualMachine(c.Client, info.Result.(types.ManagedObjectReference))
	}
	ref := pool.Reference()
	clone := func(source, name string, config *types.VirtualMachineConfigSpec, custom *types.CustomizationSpec) *object.VirtualMachine {
		t.Helper()
		return made(vm(source).Clone(t.Context(), folders.VmFolder, name, types.VirtualMachineCloneSpec{
			Location: types.VirtualMachineRelocateSpec{Pool: &ref}, PowerOn: true, Config: config, Customization: custom,
		}))
	}
	options := func(pairs ...string) *types.VirtualMachineConfigSpec {
		s := new(types.VirtualMachineConfigSpec)
		for i := 0; i < len(pairs); i += 2 {
			s.ExtraConfig = append(s.ExtraConfig, &types.OptionValue{Key: pairs[i], Value: pairs[i+1]})
		}
		return s
	}
	seen := map[string]bool{}
	check := func(what string, v *object.VirtualMachine, hostname string, within netip.Prefix) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		ip, err := v.WaitForIP(ctx)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var is mo.VirtualMachine
		if err := property.DefaultCollector(c.Client).RetrieveOne(t.Context(), v.Reference(), []string{"guest"}, &is); err != nil {
			t.Fatal(err)
		}
		if a, err := netip.ParseAddr(ip); err != nil || !within.Contains(a) || seen[ip] {
			t.Errorf("%s: has %s, want an address of %s that no other has", what, ip, within)
		}
		if seen[ip] = true; is.Guest.HostName != hostname || is.Guest.ToolsRunningStatus != "guestToolsRunning" || len(is.Guest.Net) != 1 {
			t.Errorf("%s: reports %q, %s, %d NICs", what, is.Guest.HostName, is.Guest.ToolsRunningStatus, len(is.Guest.Net))
		}
	}
	lan := netip.MustParsePrefix("10.7.0.0/24")
	begin := time.Now()
	first := clone("gold", "First_One", nil, nil)
	check("a clone", first, "first-one", lan)
	if took := time.Since(begin); took < 100*time.Millisecond {
		t.Errorf("it boots in %s", took)
	}
	check("a clone with metadata", clone("gold", "meta", options("guestinfo.metadata", "local-hostname: from-meta"), nil), "from-meta", lan)
	packed := base64.StdEncoding.EncodeToString([]byte(`{"hostname": "packed"}`))
	check("with packed metadata", clone("gold", "meta2", options("guestinfo.metadata", packed, "guestinfo.metadata.encoding", "base64"), nil), "packed", lan)
	check("a customized clone", clone("gold", "custom", nil, &types.CustomizationSpec{
		Identity:         &types.CustomizationLinuxPrep{HostName: &types.CustomizationFixedName{Name: "customized"}, Domain: "example.com"},
		GlobalIPSettings: types.CustomizationGlobalIPSettings{},
		NicSettingMap: []types.CustomizationAdapterMapping{{Adapter: types.CustomizationIPSettings{
			Ip: &types.CustomizationFixedIp{IpAddress: "10.9.0.5"}, SubnetMask: "255.255.255.0",
		}}},
	}), "customized", netip.MustParsePrefix("10.9.0.0/24"))
	check("a clone by DHCP", clone("gold", "dhcp", nil, &types.CustomizationSpec{
		Identity:      &types.CustomizationLinuxPrep{HostName: &types.CustomizationFixedName{Name: "dhcp"}, Domain: "example.com"},
		NicSettingMap: []types.CustomizationAdapterMapping{{Adapter: types.CustomizationIPSettings{Ip: &types.CustomizationDhcpIpGenerator{}}}},
	}), "dhcp", lan)
	check("a clone of a running VM", clone("runs", "copy", nil, nil), "copy", lan)
	check("a clone of a clone", clone("First_One", "second", nil, nil), "second", lan)

	// An instant clone runs already.
	res, err := methods.InstantClone_Task(t.Context(), c.Client, &types.InstantClone_Task{This: vm("runs").Reference(), Spec: types.VirtualMachineInstantCloneSpec{Name: "instant"}})
	if err != nil {
		t.Fatal(err)
	}
	instant := made(object.NewTask(c.Client, res.Returnval), nil)
	check("an instant clone", instant, "instant", lan)
	if _, err := methods.InstantClone_Task(t.Context(), c.Client, &types.InstantClone_Task{This: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-x"}}); err == nil {
		t.Error("a VM that is not there is cloned")
	}

	// After a power cycle a clone is as it was.
	if task, err := first.PowerOff(t.Context()); err != nil || task.Wait(t.Context()) != nil {
		t.Fatal(err)
	}
	if task, err := first.PowerOn(t.Context()); err != nil || task.Wait(t.Context()) != nil {
		t.Fatal(err)
	}
	clear(seen)
	check("after a power cycle", first, "first-one", lan)

	gold, err := find.NewFinder(c.Client).VirtualMachine(t.Context(), "/dc/vm/gold")
	if err != nil {
		t.Fatal(err)
	}
	var is mo.VirtualMachine
	if err := property.DefaultCollector(c.Client).RetrieveOne(t.Context(), gold.Reference(), []string{"config.uuid"}, &is); err != nil {
		t.Fatal(err)
	}
	guests := lab.VCenters()[0].Guests()
	for _, v := range []*object.VirtualMachine{first, vm("second")} {
		if got := guests.Origin(v.Reference()); got != is.Config.Uuid {
			t.Errorf("%s comes from %q, want %q", v.Name(), got, is.Config.Uuid)
		}
	}
	if got := guests.Origin(gold.Reference()); got != "" {
		t.Errorf("the template comes from %q", got)
	}

	// Without tools there is nothing to report.
	bare := clone("bare", "quiet", nil, nil)
	if err := property.DefaultCollector(c.Client).RetrieveOne(t.Context(), bare.Reference(), []string{"guest.toolsRunningStatus", "guest.ipAddress"}, &is); err != nil || is.Guest != nil && is.Guest.IpAddress != "" {
		t.Errorf("a guest without tools reports %+v, %v", is.Guest, err)
	}
}
