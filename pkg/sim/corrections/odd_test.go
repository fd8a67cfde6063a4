package corrections_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// everything is an inventory with some of all.
const everything = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: odd}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          networks: [{name: nodes}]
          datastores: [{name: shared, capacity: 2Ti}, {name: other, capacity: 1Ti}]
          clusters:
            - {name: c1, hosts: [{name: "h-{n}", replicas: 3}]}
          hosts: [{name: alone}]
          vms:
            - {name: "vm-{n}", replicas: 4, cluster: c1}
            - {name: off, cluster: c1, power: "off"}
        - name: dc2
          networks: [{name: nodes}]
          hosts: [{name: far}]
          vms: [{name: far-vm}]
`

// methodsOf lists the requests that vcsim's objects of the type of obj answer.
func methodsOf(obj any) map[string]reflect.Type {
	found := map[string]reflect.Type{}
	t := reflect.TypeOf(obj)
	for method := range t.Methods() {
		m := method.Type
		if m.NumIn() < 2 || m.NumOut() != 1 {
			continue
		}
		in := m.In(m.NumIn() - 1)
		if in.Kind() == reflect.Pointer && strings.HasSuffix(in.Elem().PkgPath(), "vim25/types") && m.Out(0).Name() == "HasFault" {
			found[in.Elem().Name()] = in.Elem()
		}
	}
	return found
}

type filler struct {
	r    *rand.Rand
	refs map[string][]types.ManagedObjectReference
	all  []types.ManagedObjectReference
	impl map[reflect.Type][]reflect.Type
}

func (f *filler) ref(field string) types.ManagedObjectReference {
	kinds := map[string]string{
		"Pool": "ResourcePool", "ResourcePool": "ResourcePool", "Host": "HostSystem", "Datastore": "Datastore",
		"Datacenter": "Datacenter", "Folder": "Folder", "Vm": "VirtualMachine", "Entity": "VirtualMachine", "List": "VirtualMachine", "Template": "VirtualMachine", "Network": "Network",
	}
	if k := kinds[field]; k != "" && len(f.refs[k]) > 0 && f.r.IntN(10) > 0 {
		return f.refs[k][f.r.IntN(len(f.refs[k]))]
	}
	switch f.r.IntN(4) {
	case 0:
		return types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-none"}
	}
	return f.all[f.r.IntN(len(f.all))]
}

func (f *filler) fill(v reflect.Value, field string, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 7 || f.r.IntN(3) == 0 {
			return
		}
		p := reflect.New(v.Type().Elem())
		f.fill(p.Elem(), field, depth+1)
		v.Set(p)
	case reflect.Interface:
		if depth > 7 || f.r.IntN(3) == 0 {
			return
		}
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf("x"))
			return
		}
		list, ok := f.impl[v.Type()]
		if !ok {
			all := map[string]reflect.Type{}
			tf := types.TypeFunc()
			for _, n := range typeNames {
				if t, ok := tf(n); ok && reflect.PointerTo(t).Implements(v.Type()) {
					all[n] = t
				}
			}
			for _, n := range typeNames {
				if t := all[n]; t != nil {
					list = append(list, t)
				}
			}
			f.impl[v.Type()] = list
		}
		if len(list) > 0 {
			p := reflect.New(list[f.r.IntN(len(list))])
			f.fill(p.Elem(), field, depth+1)
			v.Set(p)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[types.ManagedObjectReference]() {
			v.Set(reflect.ValueOf(f.ref(field)))
			return
		}
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && (v.Type().Field(i).Anonymous || f.r.IntN(4) > 0) {
				f.fill(v.Field(i), v.Type().Field(i).Name, depth+1)
			}
		}
	case reflect.Slice:
		if depth > 7 || v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		n := f.r.IntN(3)
		s := reflect.MakeSlice(v.Type(), n, n)
		for i := range n {
			f.fill(s.Index(i), field, depth+1)
		}
		v.Set(s)
	case reflect.String:
		vals := []string{"", "x", "[shared] off/off.vmx", "[shared] ", "[none] x/x.vmx", "vm-1", "add", "remove", "edit", "create", "-1", "[other] a.vmdk", "[shared", "poweredOn", "vm", "52d0d0c8-0000-0000-0000-000000000000", "dc/vm/off"}
		v.SetString(vals[f.r.IntN(len(vals))])
	case reflect.Bool:
		v.SetBool(f.r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int, reflect.Int16, reflect.Int8:
		v.SetInt([]int64{0, 1, -1, 2000, 1000, 4000, 100, 7}[f.r.IntN(8)] % 127)
	}
}

// typeNames are types that stand in for the base types of arguments.
var typeNames = []string{
	"VirtualDisk", "VirtualE1000", "VirtualVmxnet3", "VirtualCdrom", "VirtualController", "ParaVirtualSCSIController",
	"VirtualDeviceConfigSpec", "VirtualDiskFlatVer2BackingInfo", "VirtualEthernetCardNetworkBackingInfo",
	"VirtualEthernetCardDistributedVirtualPortBackingInfo", "VirtualCdromIsoBackingInfo", "VirtualDeviceFileBackingInfo",
	"OptionValue", "VirtualMachineDefinedProfileSpec", "ClusterConfigSpecEx", "DVSConfigSpec", "VMwareDVSConfigSpec",
	"VslmCreateSpecDiskFileBackingSpec", "VslmCreateSpecRawDiskMappingBackingSpec", "GeneralUserEvent", "VmPoweredOnEvent",
	"HostNasVolumeSpec", "FileBackedVirtualDiskSpec", "CustomizationSpec", "VmConfigSpec", "VAppConfigSpec",
}

// TestOddCalls calls every method of vcsim with nothing, and with what comes to mind: each call has an answer, soon, and the
// process lives. The choice is the same in each run.
func TestOddCalls(t *testing.T) {
	if race.Enabled {
		t.Skip("vcsim itself races when VMs are created and destroyed at once: run it without -race, as make test does, too")
	}
	top := everything
	ctx := t.Context()
	loaded, err := topology.Load("t", []byte(top))
	if err != nil {
		t.Fatal(err)
	}
	sm, err := sim.New(ctx, sim.Options{Topology: loaded, Dir: t.TempDir(), Addresses: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sm.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	v := sm.VCenters()[0]
	u := v.URL()
	u.User = url.UserPassword(v.User(), v.Password())
	c, err := govmomi.NewClient(ctx, u, true)
	if err != nil {
		t.Fatal(err)
	}
	objs := map[string]any{
		"Folder": &simulator.Folder{}, "VirtualMachine": &simulator.VirtualMachine{}, "Datacenter": &simulator.Datacenter{},
		"ClusterComputeResource": &simulator.ClusterComputeResource{}, "HostSystem": &simulator.HostSystem{}, "ResourcePool": &simulator.ResourcePool{},
		"VirtualApp": &simulator.VirtualApp{}, "Datastore": &simulator.Datastore{}, "DistributedVirtualSwitch": &simulator.DistributedVirtualSwitch{},
		"DistributedVirtualPortgroup": &simulator.DistributedVirtualPortgroup{},
		"FileManager":                 &simulator.FileManager{}, "VirtualDiskManager": &simulator.VirtualDiskManager{}, "VcenterVStorageObjectManager": &simulator.VcenterVStorageObjectManager{},
		"CustomFieldsManager": &simulator.CustomFieldsManager{}, "CustomizationSpecManager": &simulator.CustomizationSpecManager{}, "EventManager": &simulator.EventManager{},
		"TaskManager": &simulator.TaskManager{}, "PerformanceManager": &simulator.PerformanceManager{}, "OptionManager": &simulator.OptionManager{},
		"OvfManager": &simulator.OvfManager{}, "LicenseManager": &simulator.LicenseManager{}, "ExtensionManager": &simulator.ExtensionManager{},
		"StorageResourceManager": &simulator.StorageResourceManager{}, "IpPoolManager": &simulator.IpPoolManager{}, "ViewManager": &simulator.ViewManager{},
		"AuthorizationManager": &simulator.AuthorizationManager{}, "DistributedVirtualSwitchManager": &simulator.DistributedVirtualSwitchManager{},
		"SearchIndex": &simulator.SearchIndex{}, "HostDatastoreSystem": &simulator.HostDatastoreSystem{}, "HostNetworkSystem": &simulator.HostNetworkSystem{},
		"HostDatastoreBrowser": &simulator.HostDatastoreBrowser{}, "EnvironmentBrowser": &simulator.EnvironmentBrowser{}, "CryptoManagerKmip": &simulator.CryptoManagerKmip{},
		"TenantTenantManager": &simulator.TenantManager{}, "VirtualMachineSnapshot": &simulator.VirtualMachineSnapshot{}, "VmCompatibilityChecker": &simulator.VmCompatibilityChecker{}, "VmProvisioningChecker": &simulator.VmProvisioningChecker{},
		"HostStorageSystem": &simulator.HostStorageSystem{}, "HostFirewallSystem": &simulator.HostFirewallSystem{}, "AlarmManager": &simulator.AlarmManager{},
	}
	const rounds = 6
	f := &filler{r: rand.New(rand.NewPCG(1, 1)), refs: map[string][]types.ManagedObjectReference{}, impl: map[reflect.Type][]reflect.Type{}}
	collect := func() {
		f.refs, f.all = map[string][]types.ManagedObjectReference{}, nil
		cv, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		list, err := cv.Find(ctx, []string{"ManagedEntity"}, nil)
		if err != nil {
			t.Log(err)
		}
		_ = cv.Destroy(ctx)
		for _, r := range list {
			f.refs[r.Type] = append(f.refs[r.Type], r)
			f.all = append(f.all, r)
		}
		s := reflect.ValueOf(c.ServiceContent)
		for _, field := range s.Fields() {
			if p, ok := reflect.TypeAssert[*types.ManagedObjectReference](field); ok && p != nil {
				f.refs[p.Type] = append(f.refs[p.Type], *p)
			}
		}
	}
	collect()
	for round := range rounds {
		for _, kind := range slices.Sorted(maps.Keys(objs)) {
			requests := methodsOf(objs[kind])
			for _, name := range slices.Sorted(maps.Keys(requests)) {
				rt := requests[name]
				if strings.Contains(name, "Session") || strings.HasPrefix(name, "Login") || name == "Logout" || strings.HasPrefix(name, "Destroy") && round < rounds-1 || strings.HasPrefix(name, "WaitFor") || strings.HasSuffix(name, "AuthorizationRole") || strings.HasSuffix(name, "EntityPermission") || strings.HasSuffix(name, "EntityPermissions") {
					continue
				}
				req := reflect.New(rt)
				if round > 0 {
					f.fill(req.Elem(), "", 0)
				}
				this := types.ManagedObjectReference{Type: kind, Value: "none"}
				if l := f.refs[kind]; len(l) > 0 {
					this = l[f.r.IntN(len(l))]
				}
				req.Elem().FieldByName("This").Set(reflect.ValueOf(this))
				var b bytes.Buffer
				b.WriteString(`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>`)
				e := xml.NewEncoder(&b)
				if err := e.EncodeElement(req.Interface(), xml.StartElement{Name: xml.Name{Space: "urn:" + vim25.Namespace, Local: name}}); err != nil {
					t.Log(name, err)
					continue
				}
				_ = e.Flush()
				b.WriteString(`</soapenv:Body></soapenv:Envelope>`)
				cctx, cancel := context.WithTimeout(ctx, 15*time.Second)
				hr, err := http.NewRequestWithContext(cctx, http.MethodPost, c.URL().String(), bytes.NewReader(b.Bytes()))
				if err != nil {
					t.Fatal(err)
				}
				hr.Header.Set("Content-Type", "text/xml")
				hr.Header.Set("SOAPAction", "urn:vim25/8.0")
				err = c.Client.Client.Do(ctx, hr, func(res *http.Response) error {
					_, err := io.Copy(io.Discard, res.Body)
					return err
				})
				cancel()
				if err != nil {
					t.Errorf("%s.%s on %v: %v\n%s", kind, name, this, err, b.String())
					if strings.Contains(err.Error(), "deadline") {
						return
					}
				}
			}
		}
		collect()
	}
}
