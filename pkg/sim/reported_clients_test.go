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
