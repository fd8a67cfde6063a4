package inventory_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	client "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

func categories() inventory.Categories {
	return inventory.Categories{Region: "k8s-region", Zone: "k8s-zone"}
}

// connect leads to the vCenter of a configuration.
func connect(t testing.TB, v vcenter.VCenter, onCall func(client.Call)) *vcenter.Connection {
	t.Helper()
	c, err := v.Connect(t.Context(), vcenter.Options{UserAgent: "test", OnCall: onCall})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func zones(t *testing.T) *vcenter.Connection {
	t.Helper()
	config, err := vcenter.LoadFile(sim.Start(t, "../testdata/zones.yaml").CloudConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, config.VCenters[0], nil)
}

func read(t *testing.T, c *vcenter.Connection, s inventory.Selection) map[string]inventory.VM {
	t.Helper()
	inv, err := inventory.Read(t.Context(), c, s, categories())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range inv.Warnings {
		t.Error(w)
	}
	all := map[string]inventory.VM{}
	for _, vm := range inv.VMs {
		all[vm.Name] = vm
	}
	return all
}

func TestRows(t *testing.T) {
	all := read(t, zones(t), inventory.Selection{})
	got := all["cp-1"]
	if got.UUID == "" || got.InstanceUUID == "" || got.Ref.Value == "" || got.HostRef.Value == "" || got.PoolRef.Value == "" {
		t.Errorf("%+v lacks an identity", got)
	}
	want := inventory.VM{
		VCenter: "vc", Name: "cp-1", Path: "/americas/dcwest/vm/k8s/masters/cp-1", Folder: "k8s/masters", Hostname: "cp-1.corp.example",
		Addresses: []string{"10.20.0.5", "2001:db8::5", "10.1.0.5"}, Tools: "guestToolsRunning", Power: "poweredOn",
		Connection: "connected", Datacenter: "dcwest", Cluster: "c1", Host: got.Host, Region: "us", Zone: "us-west",
		Tags: []inventory.Tag{{"env", "blue"}, {"env", "prod"}}, HardwareVersion: "vmx-21",
		Ref: got.Ref, UUID: got.UUID, InstanceUUID: got.InstanceUUID, DiskUUID: got.DiskUUID, HostRef: got.HostRef, PoolRef: got.PoolRef,
	}
	want.VCenter = got.VCenter // the tenant's name, which the sandbox chooses
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, zone := range map[string]string{
		"worker-1": "us-west", "worker-9": "us-west-2", "off-1": "attic", "worker-3": "us-east",
	} {
		if all[name].Zone != zone || all[name].Region != "us" {
			t.Errorf("%s is in %s/%s, want us/%s", name, all[name].Region, all[name].Zone, zone)
		}
	}
	if vm := all["worker-1"]; vm.Pool != "prod/web" || vm.Folder != "k8s" {
		t.Errorf("worker-1 in pool %q, folder %q", vm.Pool, vm.Folder)
	}
	if vm := all["off-1"]; vm.Cluster != "" || vm.Host != "10.7.0.1" || vm.Power != "poweredOff" || len(vm.Addresses) != 0 {
		t.Errorf("off-1: %+v", vm)
	}
	if !all["golden"].Template {
		t.Error("golden is a template")
	}
}

func TestSelection(t *testing.T) {
	c := zones(t)
	for _, tc := range []struct {
		name string
		s    inventory.Selection
		want string
	}{
		{"all", inventory.Selection{}, "cp-1 golden off-1 worker-1 worker-2 worker-3 worker-9"},
		{"folder", inventory.Selection{Folders: []string{"k8s"}}, "cp-1 worker-1 worker-2 worker-9"},
		{"inner folder", inventory.Selection{Folders: []string{"k8s/masters/"}}, "cp-1"},
		{"inventory path", inventory.Selection{Folders: []string{"/americas/dceast/vm"}}, "worker-3"},
		{"tag", inventory.Selection{Tags: []string{"env:prod"}}, "cp-1 worker-1 worker-2"},
		{"any of two tags", inventory.Selection{Tags: []string{"env:blue", "env:none"}}, "cp-1"},
		{"name", inventory.Selection{Names: []string{"worker-*"}}, "worker-1 worker-2 worker-3 worker-9"},
		{"pool", inventory.Selection{Pools: []string{"prod"}}, "worker-1 worker-2"},
		{"pool by path", inventory.Selection{Pools: []string{"/americas/dcwest/host/c2/Resources"}}, "worker-9"},
		{"datacenter", inventory.Selection{Datacenters: []string{"dceast"}}, "worker-3"},
		{"all at once", inventory.Selection{Folders: []string{"k8s"}, Tags: []string{"env:prod"}, Names: []string{"*-1"}}, "cp-1 worker-1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inv, err := inventory.Read(t.Context(), c, tc.s, categories())
			if err != nil {
				t.Fatal(err)
			}
			all := map[string]bool{}
			for _, vm := range inv.VMs {
				all[vm.Name] = true
			}
			if diff := cmp.Diff(strings.Fields(tc.want), slices.Sorted(maps.Keys(all))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSelectionRefuses(t *testing.T) {
	c := zones(t)
	for _, tc := range []struct {
		s    inventory.Selection
		want string
	}{
		{inventory.Selection{Folders: []string{"k8s/mastrs"}}, `folder "k8s/mastrs" not found, or this account may not see it: did you mean "k8s/masters"?`},
		{inventory.Selection{Pools: []string{"prod/wbe"}}, `did you mean "prod/web"?`},
		{inventory.Selection{Datacenters: []string{"dcnorth"}}, `datacenter "dcnorth" not found`},
		{inventory.Selection{Tags: []string{"prod"}}, "must be category:name"},
		{inventory.Selection{Folders: []string{"/"}}, "is empty"},
	} {
		inv, err := inventory.Read(t.Context(), c, tc.s, categories())
		if err == nil {
			err = inventory.CheckAbsent(inv)
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: error %v", tc.s, err)
		}
	}
	inv, err := inventory.Read(t.Context(), c, inventory.Selection{Names: []string{"nobody*"}}, categories())
	if err != nil || len(inv.VMs) != 0 || len(inv.Warnings) != 1 {
		t.Errorf("%+v, %v", inv, err)
	}
}

// TestInterrupted stops waiting for a vCenter that answers neither the call nor the cleanup.
func TestInterrupted(t *testing.T) {
	lab := sim.Start(t, "../testdata/zones.yaml")
	config, err := vcenter.LoadFile(lab.CloudConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, config.VCenters[0], nil)
	v, _ := lab.VCenter("vc")
	if _, err := v.Gate().Add(gate.Rule{Match: gate.Match{Methods: []string{"RetrievePropertiesEx", "DestroyView"}}, Action: gate.Hang{}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	begin := time.Now()
	if _, err := inventory.Read(ctx, c, inventory.Selection{}, categories()); err == nil {
		t.Error("it was answered")
	}
	if took := time.Since(begin); took > vcenter.Patience/2 {
		t.Errorf("took %v", took)
	}
}

// TestNowhere reads two vCenters with one selection: what one of them has is not missing.
func TestNowhere(t *testing.T) {
	config, err := vcenter.LoadFile(sim.Start(t, `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: two}
spec:
  vcenters:
    - {name: west, datacenters: [{name: dcw, hosts: [{name: h1}], vms: [{name: w, folder: k8s}, {name: other}]}]}
    - {name: east, datacenters: [{name: dce, hosts: [{name: h2}], vms: [{name: e, folder: k8s}]}]}
`).CloudConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	var all []*vcenter.Connection
	for _, v := range config.VCenters {
		all = append(all, connect(t, v, nil))
	}
	for _, tc := range []struct {
		s     inventory.Selection
		chose string
		wants []string
	}{
		{s: inventory.Selection{Folders: []string{"/dcw/vm/k8s"}}, chose: "w"},
		{s: inventory.Selection{Folders: []string{"k8s"}}, chose: "e w"},
		{s: inventory.Selection{Folders: []string{"/dcw/vm/k8s", "/dce/vm"}}, chose: "e w"},
		{s: inventory.Selection{Datacenters: []string{"dce"}}, chose: "e"},
		{s: inventory.Selection{Datacenters: []string{"dcw"}, Folders: []string{"/dcw/vm"}}, chose: "other w"},
		{s: inventory.Selection{Folders: []string{"/dcw/vm/k8s", "k9s"}}, chose: "w", wants: []string{`vcenter "west": folder "k9s"`, `vcenter "east": folder "k9s"`}},
	} {
		var invs []*inventory.Inventory
		var chose []string
		for _, c := range all {
			inv, err := inventory.Read(t.Context(), c, tc.s, categories())
			if err != nil {
				t.Fatal(err)
			}
			invs = append(invs, inv)
			for _, vm := range inv.VMs {
				chose = append(chose, vm.Name)
			}
		}
		slices.Sort(chose)
		err := inventory.CheckAbsent(invs...)
		if (err != nil) != (tc.wants != nil) || strings.Join(chose, " ") != tc.chose {
			t.Errorf("%+v: %v, %v", tc.s, chose, err)
		}
		for _, want := range tc.wants {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%+v: %v, want %s", tc.s, err, want)
			}
		}
	}
}

// TestNarrowAccount reads with an account that may see one datacenter of two, whose region is on the root folder: the account
// sees no tags of an object that it may not read.
func TestNarrowAccount(t *testing.T) {
	lab := sim.Start(t, `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: narrow}
spec:
  tagCategories: [{name: k8s-region}]
  vcenters:
    - name: vc
      tags: [{category: k8s-region, name: r}]
      users: [{name: cpi@vsphere.local, password: "secret of cpi"}, {name: blind@vsphere.local, password: "secret of blind"}]
      permissions: [{user: cpi@vsphere.local, role: ReadOnly, propagate: "no"}]
      datacenters:
        - name: west
          zone: z
          hosts: [{name: w}]
          vms: [{name: a}]
          permissions: [{user: cpi@vsphere.local, role: ReadOnly}, {user: blind@vsphere.local, role: ReadOnly}]
        - {name: east, zone: z, hosts: [{name: e}], vms: [{name: b}]}
`)
	v, _ := lab.VCenter("vc")
	for _, tc := range []struct {
		user, password string
		want           []string
	}{
		{v.User(), v.Password(), []string{"/east/vm/b r z", "/west/vm/a r z"}},
		{"cpi@vsphere.local", "secret of cpi", []string{"/west/vm/a r z"}},
		{"blind@vsphere.local", "secret of blind", []string{"/west/vm/a  "}},
	} {
		config, err := vcenter.FromEnvironment([]string{
			"GOVC_URL=" + v.Addr(), "GOVC_USERNAME=" + tc.user, "GOVC_PASSWORD=" + tc.password, "GOVC_TLS_CA_CERTS=" + lab.CAFile,
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, vm := range read(t, connect(t, config.VCenters[0], nil), inventory.Selection{}) {
			got = append(got, vm.Path+" "+vm.Region+" "+vm.Zone)
		}
		slices.Sort(got)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// stock leads to a vcsim that shares nothing with the sandbox.
func stock(t testing.TB, vms int, onCall func(client.Call)) *vcenter.Connection {
	t.Helper()
	s, err := stocksim.Start(10, vms)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	password, _ := s.URL().User.Password()
	config, err := vcenter.FromEnvironment([]string{
		"GOVC_URL=" + s.URL().Host, "GOVC_USERNAME=" + s.URL().User.Username(), "GOVC_PASSWORD=" + password, "GOVC_INSECURE=1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, config.VCenters[0], onCall)
}

// TestStock reads what has no tags to tell.
func TestStock(t *testing.T) {
	calls := make(chan string, 100)
	c := stock(t, 60, func(call client.Call) { calls <- call.Method })
	for len(calls) > 0 {
		<-calls
	}
	inv, err := inventory.Read(t.Context(), c, inventory.Selection{}, categories())
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.VMs) != 60 || len(calls) > 6 {
		t.Errorf("%d VMs with %d calls", len(inv.VMs), len(calls))
	}
	for _, vm := range inv.VMs {
		if vm.UUID == "" || vm.Host == "" || vm.Cluster == "" || vm.Datacenter != "DC0" || vm.Path == "" || vm.Power != "poweredOn" {
			t.Fatalf("%+v", vm)
		}
	}
	if len(inv.Warnings) != 1 {
		t.Errorf("warnings %q: that there are no tags is to be told", inv.Warnings)
	}
	if _, err := inventory.Read(context.Background(), c, inventory.Selection{Tags: []string{"a:b"}}, categories()); err == nil {
		t.Error("tags wanted from a vCenter that has none")
	}
}

// BenchmarkRead is of 1,000 VMs, which it takes most of a minute to make.
func BenchmarkRead(b *testing.B) {
	c := stock(b, 1000, nil)
	for b.Loop() {
		inv, err := inventory.Read(b.Context(), c, inventory.Selection{}, categories())
		if err != nil || len(inv.VMs) != 1000 {
			b.Fatalf("%+v, %v", inv, err)
		}
	}
}

func ExampleParseTag() {
	tag, err := inventory.ParseTag("env:prod")
	fmt.Println(tag.Category, tag.Name, err)
	// Output: env prod <nil>
}
