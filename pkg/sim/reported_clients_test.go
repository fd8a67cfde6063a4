package sim_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
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
