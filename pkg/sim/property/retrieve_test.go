package property_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// both asks vcsim's own collector and ours the same of the same inventory.
func both(v *vcenter, r *types.RetrievePropertiesEx) (stock, ours *methods.RetrievePropertiesExBody) {
	stock = new(simulator.PropertyCollector).RetrievePropertiesEx(v.call(), r).(*methods.RetrievePropertiesExBody)
	ctx := v.call()
	installed := ctx.Session.Get(v.Map.Get(vimInstance).(*simulator.ServiceInstance).Content.PropertyCollector)
	ours = installed.(*property.PropertyCollector).RetrievePropertiesEx(ctx, r).(*methods.RetrievePropertiesExBody)
	return stock, ours
}

var vimInstance = types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}

func diffBoth(t *testing.T, v *vcenter, specs ...types.PropertyFilterSpec) {
	t.Helper()
	stock, ours := both(v, &types.RetrievePropertiesEx{SpecSet: specs})
	if stock.Fault_ != nil || ours.Fault_ != nil {
		if d := cmp.Diff(stock.Fault_, ours.Fault_, cmpopts.IgnoreFields(types.ManagedObjectNotFound{}, "RuntimeFault")); d != "" {
			t.Errorf("fault (-stock +ours):\n%s", d)
		}
		return
	}
	for i := range stock.Res.Returnval.Objects {
		mendStock(&stock.Res.Returnval.Objects[i])
	}
	if d := cmp.Diff(stock.Res.Returnval.Objects, ours.Res.Returnval.Objects, cmpopts.EquateEmpty(), byReference); d != "" {
		t.Errorf("objects (-stock +ours):\n%s", d)
	}
}

// byReference compares objects as a set. vcsim's own does not look at the type
// of a traversal and so comes by an object on other ways.
var byReference = cmpopts.SortSlices(func(a, b types.ObjectContent) bool { return a.Obj.String() < b.Obj.String() })

// mendStock takes out what vcsim's own answers wrongly when asked for all: the
// name twice where two types in the chain have one.
func mendStock(o *types.ObjectContent) {
	seen := make(map[string]bool)
	o.PropSet = slices.DeleteFunc(o.PropSet, func(p types.DynamicProperty) bool {
		twice := seen[p.Name]
		seen[p.Name] = true
		return twice
	})
}

// Every property of every object reads as with vcsim's own collector, down to
// the Go types an in-memory client sees.
func TestRetrieveAllOfEverything(t *testing.T) {
	race.SkipSlow(t)
	v := newVCenter(t, true, property.Options{}, func(m *simulator.Model) {
		m.Pod, m.App, m.Pool, m.Folder, m.Portgroup = 1, 1, 1, 1, 1
	})
	kinds := make(map[string]int)
	for _, obj := range v.Map.AllReference("") {
		ref := obj.Reference()
		if kinds[ref.Type]++; kinds[ref.Type] > 3 || ref.Type == "PropertyCollector" {
			continue
		}
		t.Run(ref.String(), func(t *testing.T) {
			diffBoth(t, v, types.PropertyFilterSpec{
				PropSet:   []types.PropertySpec{{Type: ref.Type, All: new(true)}},
				ObjectSet: []types.ObjectSpec{{Obj: ref}},
			})
		})
	}
}

func TestRetrievePaths(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	vm := v.vms()[0]
	v.set(vm, change("config.extraConfig", []types.BaseOptionValue{
		&types.OptionValue{Key: "guestinfo.a", Value: "1"},
		&types.OptionValue{Key: "guestinfo.b.c", Value: int32(2)},
	}))
	tests := map[string]types.PropertySpec{
		"leaf":             {Type: "VirtualMachine", PathSet: []string{"name", "runtime.powerState", "summary.config.numCpu"}},
		"twice":            {Type: "VirtualMachine", PathSet: []string{"name", "name"}},
		"unset":            {Type: "VirtualMachine", PathSet: []string{"guest.ipAddress", "snapshot", "config.vAppConfig.product"}},
		"list":             {Type: "VirtualMachine", PathSet: []string{"network", "datastore", "config.hardware.device", "guest.net"}},
		"reference":        {Type: "VirtualMachine", PathSet: []string{"runtime.host", "parent", "resourcePool"}},
		"base type":        {Type: "ManagedEntity", PathSet: []string{"name", "overallStatus"}},
		"no such property": {Type: "VirtualMachine", PathSet: []string{"name", "nope", "config.nope"}},
		"field of list":    {Type: "VirtualMachine", PathSet: []string{"config.hardware.device.key"}},
		"other type":       {Type: "HostSystem", PathSet: []string{"name"}},
		"only type":        {Type: "VirtualMachine"},
		"indexed int":      {Type: "VirtualMachine", PathSet: []string{"config.hardware.device[4000]", "config.hardware.device[4000].macAddress"}},
		"indexed string":   {Type: "VirtualMachine", PathSet: []string{`config.extraConfig["guestinfo.a"]`, `config.extraConfig["guestinfo.b.c"].value`}},
		"indexed, deep below": {Type: "VirtualMachine", PathSet: []string{
			"config.hardware.device[4000].backing.deviceName", "config.hardware.device[4000].deviceInfo.label",
			"config.hardware.device[4000].backing.nope", "config.hardware.device[4000].connectable.startConnected",
		}},
		"index in an index": {Type: "VirtualMachine", PathSet: []string{`config.hardware.device[4000].nope["x"]`, "config[1].hardware"}},
		"indexed absent":    {Type: "VirtualMachine", PathSet: []string{"config.hardware.device[1]", `config.extraConfig["none"]`}},
		"indexed wrong key": {Type: "VirtualMachine", PathSet: []string{`config.hardware.device["4000"]`, "config.extraConfig[3]"}},
		"malformed":         {Type: "VirtualMachine", PathSet: []string{"config.hardware.device[", "config.hardware.device[x]"}},
	}
	for name, ps := range tests {
		t.Run(name, func(t *testing.T) {
			diffBoth(t, v, types.PropertyFilterSpec{PropSet: []types.PropertySpec{ps}, ObjectSet: []types.ObjectSpec{{Obj: vm}}})
		})
	}
	t.Run("all and named", func(t *testing.T) {
		diffBoth(t, v, types.PropertyFilterSpec{
			PropSet: []types.PropertySpec{
				{Type: "ManagedEntity", PathSet: []string{"name"}},
				{Type: "VirtualMachine", PathSet: []string{"name", "runtime.host"}},
			},
			ObjectSet: []types.ObjectSpec{{Obj: vm}},
		})
	})
}

func ref(kind, value string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: kind, Value: value}
}

func TestRetrieveTraversals(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, func(m *simulator.Model) { m.Datacenter, m.Folder = 2, 1 })
	content := v.Map.Get(vimInstance).(*simulator.ServiceInstance).Content
	named := func(name string) types.BaseSelectionSpec { return &types.SelectionSpec{Name: name} }
	step := func(name, kind, path string, next ...types.BaseSelectionSpec) types.BaseSelectionSpec {
		return &types.TraversalSpec{SelectionSpec: types.SelectionSpec{Name: name}, Type: kind, Path: path, SelectSet: next}
	}
	everything := []types.PropertySpec{{Type: "ManagedEntity", PathSet: []string{"name", "parent"}}}
	// The recursive traversal of the classic SDK samples, which pyVmomi and
	// older Java clients send.
	classic := []types.BaseSelectionSpec{
		step("folders", "Folder", "childEntity",
			named("folders"),
			step("dc2vm", "Datacenter", "vmFolder", named("folders")),
			step("dc2host", "Datacenter", "hostFolder", named("folders")),
			step("cr2host", "ComputeResource", "host"),
			step("cr2pool", "ComputeResource", "resourcePool", step("pool", "ResourcePool", "resourcePool", named("pool")), step("", "ResourcePool", "vm")),
		),
	}
	tests := map[string]types.PropertyFilterSpec{
		"classic":         {PropSet: everything, ObjectSet: []types.ObjectSpec{{Obj: content.RootFolder, SelectSet: classic}}},
		"classic, skip":   {PropSet: everything, ObjectSet: []types.ObjectSpec{{Obj: content.RootFolder, Skip: new(true), SelectSet: classic}}},
		"parents":         {PropSet: everything, ObjectSet: []types.ObjectSpec{{Obj: v.vms()[0], SelectSet: []types.BaseSelectionSpec{step("up", "ManagedEntity", "parent", named("up"))}}}},
		"nested path":     {PropSet: everything, ObjectSet: []types.ObjectSpec{{Obj: v.vms()[0], SelectSet: []types.BaseSelectionSpec{step("", "VirtualMachine", "runtime.host")}}}},
		"skip, no select": {PropSet: everything, ObjectSet: []types.ObjectSpec{{Obj: v.vms()[0], Skip: new(true)}}},
		"no such path":    {PropSet: everything, ObjectSet: []types.ObjectSpec{{Obj: v.vms()[0], SelectSet: []types.BaseSelectionSpec{step("", "VirtualMachine", "nope")}}}},
		"undefined name":  {PropSet: everything, ObjectSet: []types.ObjectSpec{{Obj: content.RootFolder, SelectSet: []types.BaseSelectionSpec{named("nope")}}}},
		"missing":         {PropSet: everything, ObjectSet: []types.ObjectSpec{{Obj: ref("VirtualMachine", "vm-none")}}},
		"missing, reported": {
			PropSet: everything, ReportMissingObjectsInResults: new(true),
			ObjectSet: []types.ObjectSpec{{Obj: ref("VirtualMachine", "vm-none")}, {Obj: v.vms()[0]}},
		},
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) { diffBoth(t, v, s) })
	}
	t.Run("two specs", func(t *testing.T) { diffBoth(t, v, tests["parents"], tests["nested path"]) })
}

// A traversal that comes back to where it was ends; vcsim's own never returns.
func TestRetrieveCycle(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	host := *v.Map.Get(v.vms()[0]).(*simulator.VirtualMachine).Runtime.Host
	loop := &types.TraversalSpec{
		SelectionSpec: types.SelectionSpec{Name: "vms"}, Type: "HostSystem", Path: "vm",
		SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{
			Type: "VirtualMachine", Path: "runtime.host",
			SelectSet: []types.BaseSelectionSpec{&types.SelectionSpec{Name: "vms"}},
		}},
	}
	var objects []types.ObjectContent
	res, err := methods.RetrievePropertiesEx(t.Context(), v.login(t), &types.RetrievePropertiesEx{
		This: v.Map.Get(vimInstance).(*simulator.ServiceInstance).Content.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			PropSet:   []types.PropertySpec{{Type: "ManagedEntity", PathSet: []string{"name"}}},
			ObjectSet: []types.ObjectSpec{{Obj: host, SelectSet: []types.BaseSelectionSpec{loop}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if objects = res.Returnval.Objects; len(objects) < 2 {
		t.Errorf("got %d objects, want the host and its VMs", len(objects))
	}
}

func TestRetrievePages(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, func(m *simulator.Model) { m.Machine = 7 })
	c := v.login(t)
	pcRef := c.ServiceContent.PropertyCollector
	req := types.RetrievePropertiesEx{
		This:    pcRef,
		SpecSet: []types.PropertyFilterSpec{spec("VirtualMachine", []string{"name"}, v.vms()...).Spec},
		Options: types.RetrieveOptions{MaxObjects: 4},
	}
	res, err := methods.RetrievePropertiesEx(t.Context(), c, &req)
	if err != nil {
		t.Fatal(err)
	}
	sizes, token := []int{len(res.Returnval.Objects)}, res.Returnval.Token
	for token != "" {
		next, err := methods.ContinueRetrievePropertiesEx(t.Context(), c, &types.ContinueRetrievePropertiesEx{This: pcRef, Token: token})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := methods.ContinueRetrievePropertiesEx(t.Context(), c, &types.ContinueRetrievePropertiesEx{This: pcRef, Token: token}); err == nil {
			t.Error("a token was good twice")
		}
		sizes, token = append(sizes, len(next.Returnval.Objects)), next.Returnval.Token
	}
	if d := cmp.Diff([]int{4, 4, 4, 2}, sizes); d != "" {
		t.Errorf("page sizes (-want +got):\n%s", d)
	}

	res, err = methods.RetrievePropertiesEx(t.Context(), c, &req)
	if err != nil {
		t.Fatal(err)
	}
	cancel := types.CancelRetrievePropertiesEx{This: pcRef, Token: res.Returnval.Token}
	if _, err := methods.CancelRetrievePropertiesEx(t.Context(), c, &cancel); err != nil {
		t.Fatal(err)
	}
	if _, err := methods.CancelRetrievePropertiesEx(t.Context(), c, &cancel); err == nil {
		t.Error("canceled twice")
	}
}

// Before login, clients read the service content and get nothing else.
func TestRetrieveWithoutSession(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	ctx := v.call()
	ctx.Session = nil
	pcRef := v.Map.Get(vimInstance).(*simulator.ServiceInstance).Content.PropertyCollector
	res := v.Map.Get(pcRef).(*property.PropertyCollector).RetrieveProperties(ctx, &types.RetrieveProperties{
		SpecSet: []types.PropertyFilterSpec{spec("VirtualMachine", []string{"name"}, v.vms()[0]).Spec},
	}).(*methods.RetrievePropertiesBody)
	if res.Fault_ != nil {
		t.Fatal(res.Fault_)
	}
	if o := res.Res.Returnval[0]; len(o.PropSet) != 0 || len(o.MissingSet) != 1 {
		t.Errorf("got %+v, want the property missing", o)
	}
}

// fetch calls Fetch as ovftool does and returns the answer's text.
func fetch(t *testing.T, c *vim25.Client, ref types.ManagedObjectReference, prop string) string {
	t.Helper()
	body := fmt.Sprintf(`<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body><Fetch xmlns="urn:vim25"><_this type="%s">%s</_this><prop>%s</prop></Fetch></Body></Envelope>`,
		ref.Type, ref.Value, prop)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL().String(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var text string
	err = c.Client.Do(context.Background(), req, func(res *http.Response) error {
		b, err := io.ReadAll(res.Body)
		text = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFetch(t *testing.T) {
	var see, read veil
	v := newVCenter(t, true, property.Options{Visible: see.allows, Readable: read.allows}, small)
	c := v.login(t)
	vms := v.vms()
	v.set(vms[0], change("name", "a name to find"))
	asEntity := ref("ManagedEntity", vms[0].Value)
	cv := vmView(t, c, "VirtualMachine")
	tests := []struct {
		what string
		ref  types.ManagedObjectReference
		prop string
		want string
	}{
		{"property", vms[0], "name", "a name to find"},
		{"by base type", asEntity, "name", "a name to find"},
		{"of a view", cv.Reference(), "view", vms[1].Value},
		{"service content", vim25.ServiceInstance, "content", "rootFolder"},
		{"no such property", vms[0], "nope", "InvalidProperty"},
		{"no such object", ref("VirtualMachine", "vm-none"), "name", "ManagedObjectNotFound"},
	}
	for _, test := range tests {
		if got := fetch(t, c, test.ref, test.prop); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %s in it", test.what, got, test.want)
		}
	}
	read.set(vms[0], true)
	if got := fetch(t, c, vms[0], "name"); !strings.Contains(got, "NoPermission") {
		t.Errorf("may not be read: got %s", got)
	}
	see.set(vms[1], true)
	if got := fetch(t, c, vms[1], "name"); !strings.Contains(got, "NoPermission") {
		t.Errorf("may not be seen: got %s", got)
	}
}
