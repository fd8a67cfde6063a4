package sim_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/wsdl"
)

// What clients other than govc send, which vcsim does not take: pyvmomi and its samples, Ansible, the Terraform provider,
// libvirt, fence agents.

// TestBaseTypes: the Terraform provider asks for the cluster of a host as ComputeResource, with the cluster's id.
func TestBaseTypes(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	cluster := ref(t, c, "/americas/dcwest/host/c1")
	var base mo.ComputeResource
	get(t, c, types.ManagedObjectReference{Type: "ComputeResource", Value: cluster.Value}, &base, "name", "environmentBrowser")
	if base.Name != "c1" || base.Self != cluster {
		t.Errorf("ComputeResource:%s is %s, name %q, want %s, c1", cluster.Value, base.Self, base.Name, cluster)
	}
	for _, bad := range []types.ManagedObjectReference{{Type: "HostSystem", Value: cluster.Value}, {Type: "ComputeResource", Value: "domain-c999999"}} {
		var none []mo.ComputeResource
		err := property.DefaultCollector(c.Client).Retrieve(t.Context(), []types.ManagedObjectReference{bad}, []string{"name"}, &none)
		if !strings.HasSuffix(faultOf(err), ".ManagedObjectNotFound") {
			t.Errorf("%s: %v, want ManagedObjectNotFound", bad, err)
		}
	}
}

// TestCookieWithBlank: pyvmomi's sample upload_file_to_datastore.py writes a blank before the cookie's value.
func TestCookieWithBlank(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	u := c.URL()
	var value string
	for _, k := range c.Jar.Cookies(u) {
		if k.Name == soap.SessionCookieName {
			value = k.Value
		}
	}
	u.Path, u.RawQuery = "/folder/none.txt", "dcPath=/americas/dcwest&dsName=dcwest-ds"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Cookie", soap.SessionCookieName+"= "+value+"; $HttpOnly")
	res, err := (&http.Client{Transport: c.DefaultTransport()}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("%s, want 404: the file is missing, and the session is known", res.Status)
	}
}

// TestHostNetwork: the Terraform provider looks for the port group that it made in the network system's networkInfo, and
// libvirt in the host's config.network. They are the same.
func TestHostNetwork(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	host := object.NewHostSystem(c.Client, ref(t, c, "/americas/dcwest/host/c1/west-1"))
	system, err := host.ConfigManager().NetworkSystem(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same := func(want string, has bool) {
		t.Helper()
		var h mo.HostSystem
		get(t, c, host.Reference(), &h, "config.network")
		var n mo.HostNetworkSystem
		get(t, c, system.Reference(), &n, "networkInfo", "networkConfig")
		names := func(groups []types.HostPortGroup, switches []types.HostVirtualSwitch) (all []string) {
			for _, g := range groups {
				all = append(all, g.Spec.VswitchName+"/"+g.Spec.Name)
			}
			for _, s := range switches {
				all = append(all, "switch "+s.Name+strings.Join(s.Portgroup, ","))
			}
			return all
		}
		a, b := names(h.Config.Network.Portgroup, h.Config.Network.Vswitch), names(n.NetworkInfo.Portgroup, n.NetworkInfo.Vswitch)
		if !slices.Equal(a, b) || slices.Contains(a, want) != has {
			t.Errorf("config.network has %q, networkInfo %q; want both the same, with %s: %t", a, b, want, has)
		}
	}
	same("vSwitch0/VM Network", true)
	if err := system.AddVirtualSwitch(t.Context(), "vSwitch1", nil); err != nil {
		t.Fatal(err)
	}
	if err := system.AddPortGroup(t.Context(), types.HostPortGroupSpec{Name: "pgtf", VswitchName: "vSwitch1"}); err != nil {
		t.Fatal(err)
	}
	same("vSwitch1/pgtf", true)
	if err := system.RemovePortGroup(t.Context(), "pgtf"); err != nil {
		t.Fatal(err)
	}
	same("vSwitch1/pgtf", false)
	if err := system.RemoveVirtualSwitch(t.Context(), "vSwitch1"); err != nil {
		t.Fatal(err)
	}
	same("switch vSwitch1", false)
}

// TestWSDL: clients that are generated from the API's description fetch it before they log in.
func TestWSDL(t *testing.T) {
	s := start(t, zones, nil)
	v := s.vcenter(t, "vc-us")
	c := s.login(t, v)
	for _, path := range wsdl.Paths() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL().ResolveReference(&url.URL{Path: path}).String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: c.DefaultTransport()}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusOK || err != nil {
			t.Errorf("%s: %s, %v", path, res.Status, err)
		}
		if address := `location="` + c.URL().String() + `"`; path == wsdl.Paths()[0] && !strings.Contains(string(text), address) {
			t.Errorf("%s: %s, want %s in it", path, text, address)
		}
	}
}

// TestCloneHasItsOwnMACs: two VMs with one MAC address are one to a DHCP server.
func TestCloneHasItsOwnMACs(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	source := vm(t, c, "/americas/dcwest/vm/k8s/masters/cp-1")
	folder := object.NewFolder(c.Client, ref(t, c, "/americas/dcwest/vm/k8s/masters"))
	seen := map[string]string{}
	macs := func(name string) (all []string) {
		t.Helper()
		var m mo.VirtualMachine
		get(t, c, vm(t, c, "/americas/dcwest/vm/k8s/masters/"+name).Reference(), &m, "config.hardware.device")
		for _, d := range m.Config.Hardware.Device {
			if nic, ok := d.(types.BaseVirtualEthernetCard); ok {
				mac := nic.GetVirtualEthernetCard().MacAddress
				if other := seen[mac]; other != "" {
					t.Errorf("%s and %s have the address %s", other, name, mac)
				}
				seen[mac] = name
				all = append(all, mac)
			}
		}
		if len(all) == 0 {
			t.Errorf("%s has no NIC", name)
		}
		return all
	}
	macs("cp-1")
	for _, name := range []string{"clone-1", "clone-2"} {
		must(t)(source.Clone(t.Context(), folder, name, types.VirtualMachineCloneSpec{PowerOn: true}))
		for _, mac := range macs(name) {
			if !strings.HasPrefix(mac, "00:50:56:") {
				t.Errorf("%s: %s", name, mac)
			}
		}
	}

	// The address that a client asks for is the clone's.
	devices, err := source.Device(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nic := devices.SelectByType((*types.VirtualEthernetCard)(nil))[0]
	nic.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard().MacAddress = "00:50:56:00:99:99"
	change := &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: nic}
	must(t)(source.Clone(t.Context(), folder, "clone-3", types.VirtualMachineCloneSpec{
		Config: &types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{change}},
	}))
	if got := macs("clone-3"); !slices.Contains(got, "00:50:56:00:99:99") {
		t.Errorf("clone-3: %q", got)
	}
}

// TestCustomizeWhileOff: a vCenter customizes only VMs that are off.
func TestCustomizeWhileOff(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	m := vm(t, c, "/americas/dcwest/vm/k8s/masters/cp-1")
	must(t)(m.PowerOff(t.Context()))
	spec := types.CustomizationSpec{
		Identity: &types.CustomizationLinuxPrep{HostName: &types.CustomizationFixedName{Name: "renamed"}, Domain: "example.com"},
	}
	for _, ip := range []string{"10.0.0.42", "10.0.0.43"} {
		spec.NicSettingMap = append(spec.NicSettingMap, types.CustomizationAdapterMapping{Adapter: types.CustomizationIPSettings{
			Ip: &types.CustomizationFixedIp{IpAddress: ip}, SubnetMask: "255.255.0.0",
		}})
	}
	must(t)(m.Customize(t.Context(), spec))
	must(t)(m.PowerOn(t.Context()))
	await(t, c, m.Reference(), []string{"guest.ipAddress", "guest.hostName"}, func(m mo.VirtualMachine) bool {
		return m.Guest.IpAddress == "10.0.0.42" && m.Guest.HostName == "renamed"
	})
	// One of the NICs is left out.
	must(t)(m.PowerOff(t.Context()))
	spec.NicSettingMap = spec.NicSettingMap[:1]
	task, err := m.Customize(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err == nil || strings.Contains(err.Error(), "types.") || !strings.HasSuffix(faultOf(err), ".NicSettingMismatch") {
		t.Errorf("one NIC of two: %v", err)
	}
}

// TestDrives: VMs have a CD-ROM drive, as vcsim's, and so have their clones.
func TestDrives(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	source := vm(t, c, "/americas/dcwest/vm/k8s/masters/cp-1")
	folder := object.NewFolder(c.Client, ref(t, c, "/americas/dcwest/vm/k8s/masters"))
	must(t)(source.Clone(t.Context(), folder, "clone", types.VirtualMachineCloneSpec{}))
	for _, m := range []*object.VirtualMachine{source, vm(t, c, "/americas/dcwest/vm/k8s/masters/clone")} {
		devices, err := m.Device(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		drive, err := devices.FindCdrom("")
		if err != nil {
			t.Fatalf("%s: %v", m.Name(), err)
		}
		if err := m.EditDevice(t.Context(), devices.InsertIso(drive, "[shared] x.iso")); err != nil {
			t.Fatal(err)
		}
		devices, err = m.Device(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if drive, err = devices.FindCdrom(""); err != nil {
			t.Fatal(err)
		}
		if iso, ok := drive.Backing.(*types.VirtualCdromIsoBackingInfo); !ok || iso.FileName != "[shared] x.iso" {
			t.Errorf("%s: %+v", m.Name(), drive.Backing)
		}
	}
}

// TestTasksOfFiles: pyvmomi does not read a task whose entity is none.
func TestTasksOfFiles(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	dc := object.NewDatacenter(c.Client, ref(t, c, "/americas/dcwest"))
	files := object.NewFileManager(c.Client)
	if err := files.MakeDirectory(t.Context(), "[shared] a", dc, false); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() (*object.Task, error){
		"CopyDatastoreFile_Task": func() (*object.Task, error) {
			return files.CopyDatastoreFile(t.Context(), "[shared] none", dc, "[shared] b", dc, false)
		},
		"MoveDatastoreFile_Task": func() (*object.Task, error) {
			return files.MoveDatastoreFile(t.Context(), "[shared] none", dc, "[shared] b", dc, false)
		},
		"DeleteDatastoreFile_Task": func() (*object.Task, error) { return files.DeleteDatastoreFile(t.Context(), "[shared] a", dc) },
	} {
		task, err := call()
		if err != nil {
			t.Fatal(err)
		}
		var got mo.Task
		get(t, c, task.Reference(), &got, "info")
		if err := task.Wait(t.Context()); name == "DeleteDatastoreFile_Task" && err != nil || err != nil && strings.Contains(err.Error(), "types.") {
			t.Errorf("%s: %v", name, err)
		}
		if got.Info.Name != name || *got.Info.Entity != dc.Reference() || got.Info.EntityName != "dcwest" || !strings.HasPrefix(got.Info.DescriptionId, "FileManager.") {
			t.Errorf("%s on %v %q, %s", got.Info.Name, got.Info.Entity, got.Info.EntityName, got.Info.DescriptionId)
		}
	}
}

// TestStandaloneHostOfAKnownName: the user's name of the new host is that of a host, which vcsim would copy.
func TestStandaloneHostOfAKnownName(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	folder := object.NewFolder(c.Client, ref(t, c, "/americas/dcwest/host"))
	must(t)(folder.AddStandaloneHost(t.Context(), types.HostConnectSpec{HostName: "h2", UserName: "west-1", Password: "x"}, true, nil, nil))
}

// TestVersionOfPyvmomi8: pyvmomi 8.0.3 reads vimServiceVersions.xml, chooses the newest version that it knows, and names it in each
// SOAPAction. It reads the enums of a VM's runtime strictly. The library itself cannot be installed without PyPI.
func TestVersionOfPyvmomi8(t *testing.T) {
	s := start(t, zones, nil)
	v := s.vcenter(t, "vc-us")
	c := s.login(t, v)
	m := vm(t, c, "/americas/dcwest/vm/k8s/masters/cp-1").Reference()
	cookie := ""
	send := func(method, path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "https://"+v.Addr()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			r.Header.Set("SOAPAction", `"urn:vim25/8.0.3.0"`)
			r.Header.Set("Content-Type", "text/xml; charset=UTF-8")
			r.Header.Set("Cookie", cookie)
		}
		res, err := (&http.Client{Transport: c.DefaultTransport()}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v\n%s", path, res.Status, err, text)
		}
		if k := res.Header.Get("Set-Cookie"); k != "" {
			cookie, _, _ = strings.Cut(k, ";")
		}
		return string(text)
	}
	call := func(inner string) string {
		return send(http.MethodPost, "/sdk", `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<soapenv:Body>`+inner+`</soapenv:Body></soapenv:Envelope>`)
	}
	if got := send(http.MethodGet, "/sdk/vimServiceVersions.xml", ""); !strings.Contains(got, "<name>urn:vim25</name>") ||
		!strings.Contains(got, "<version>8.0.3.0</version>") || !strings.Contains(got, "<version>6.7.1</version>") {
		t.Errorf("versions: %s", got)
	}
	content := call(`<RetrieveServiceContent xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent>`)
	if !strings.Contains(content, "<tenantManager") {
		t.Errorf("a client that asks for 8.0.3.0 gets the properties of that version: %s", content)
	}
	call(`<Login xmlns="urn:vim25"><_this type="SessionManager">SessionManager</_this><userName>` + v.User() + `</userName><password>` + v.Password() + `</password></Login>`)
	runtime := call(`<RetrievePropertiesEx xmlns="urn:vim25"><_this type="PropertyCollector">propertyCollector</_this><specSet>` +
		`<propSet><type>VirtualMachine</type><all>false</all><pathSet>runtime</pathSet><pathSet>summary</pathSet></propSet>` +
		`<objectSet><obj type="VirtualMachine">` + m.Value + `</obj></objectSet></specSet><options/></RetrievePropertiesEx>`)
	for _, want := range []string{"<faultToleranceState>notConfigured</faultToleranceState>", "<recordReplayState>inactive</recordReplayState>"} {
		if strings.Count(runtime, want) != 2 {
			t.Errorf("%s is there %d times, want 2: in runtime and in summary.runtime", want, strings.Count(runtime, want))
		}
	}
}
