package sim_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/eam"
	eamobject "github.com/vmware/govmomi/eam/object"
	"github.com/vmware/govmomi/lookup"
	lookuptypes "github.com/vmware/govmomi/lookup/types"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/ssoadmin"
	ssotypes "github.com/vmware/govmomi/ssoadmin/types"
	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vapi/cluster"
	"github.com/vmware/govmomi/vapi/namespace"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vsan"
	vsantypes "github.com/vmware/govmomi/vsan/types"
)

const readers = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: readers}
spec:
  vcenters:
    - name: vc
      users: [{name: reader@vsphere.local, password: pass, groups: [auditors@vsphere.local]}]
      permissions: [{user: reader@vsphere.local, role: ReadOnly}]
      datacenters:
        - name: dc
          clusters: [{name: c1, hosts: [{name: h1}]}]
          datastores: [{name: ds}]
          vms: [{name: vm-1, cluster: c1}]
    - name: other
      datacenters: [{name: dc, hosts: [{name: h1}]}]
`

// restOf returns a REST session of a user.
func restOf(t *testing.T, c *govmomi.Client, user *url.Userinfo) *rest.Client {
	t.Helper()
	r := rest.NewClient(c.Client)
	if err := r.Login(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLookupService: clients find the other services through it, without a login.
func TestLookupService(t *testing.T) {
	s := start(t, readers, nil)
	for _, name := range []string{"vc", "other"} {
		v := s.vcenter(t, name)
		c := s.login(t, v)
		l, err := lookup.NewClient(t.Context(), c.Client)
		if err != nil {
			t.Fatal(err)
		}
		all, err := l.List(t.Context(), &lookuptypes.LookupServiceRegistrationFilter{})
		if err != nil || len(all) < 3 {
			t.Fatalf("%d services, %v", len(all), err)
		}
		for _, one := range all {
			for _, e := range one.ServiceEndpoints {
				if u, err := url.Parse(e.Url); err != nil || u.Host != v.Addr() {
					t.Errorf("%s: %s is at %s", name, one.ServiceType.Type, e.Url)
				}
			}
		}
		if _, err := url.Parse(lookup.EndpointURL(t.Context(), c.Client, sts.Path, nil)); err != nil {
			t.Error(err)
		}
	}
}

// TestTokens: a token opens a session in the vCenter that issued it, for its user, until it expires.
func TestTokens(t *testing.T) {
	s := start(t, readers, nil)
	v := s.vcenter(t, "vc")
	admin := s.login(t, v)
	ctx := t.Context()
	issue := func(c *vim25.Client, u *url.Userinfo) (*sts.Signer, error) {
		tokens, err := sts.NewClient(ctx, c)
		if err != nil {
			return nil, err
		}
		return tokens.Issue(ctx, sts.TokenRequest{Userinfo: u})
	}
	open := func(v interface{ URL() *url.URL }, token *sts.Signer) (*session.Manager, *vim25.Client, error) {
		sc := soap.NewClient(v.URL(), true)
		c, err := vim25.NewClient(ctx, sc)
		if err != nil {
			t.Fatal(err)
		}
		m := session.NewManager(c)
		return m, c, m.LoginByToken(c.WithHeader(ctx, soap.Header{Security: token}))
	}
	if _, err := issue(admin.Client, url.UserPassword("reader@vsphere.local", "wrong")); err == nil {
		t.Error("a token for a wrong password")
	}
	token, err := issue(admin.Client, url.UserPassword("reader@vsphere.local", "pass"))
	if err != nil {
		t.Fatal(err)
	}
	m, c, err := open(v, token)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := m.UserSession(ctx); err != nil || u == nil || u.UserName != `VSPHERE.LOCAL\reader` {
		t.Errorf("session %+v, %v", u, err)
	}
	// The same over REST.
	r := rest.NewClient(c)
	if err := r.LoginByToken(r.WithSigner(ctx, token)); err != nil {
		t.Errorf("REST: %v", err)
	}
	if now, err := r.Session(ctx); err != nil || now == nil {
		t.Errorf("REST: %+v, %v", now, err)
	}
	if _, _, err := open(s.vcenter(t, "other"), token); err == nil {
		t.Error("another vCenter takes the token")
	}
	forged := *token
	forged.Token = strings.Replace(token.Token, `ID="_`, `ID="_x`, 1)
	if _, _, err := open(v, &forged); err == nil {
		t.Error("a token that no one issued opens a session")
	}
	if err := r.LoginByToken(r.WithSigner(ctx, &forged)); err == nil {
		t.Error("REST takes a token that no one issued")
	}
	tokens, err := sts.NewClient(ctx, admin.Client)
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := tokens.Renew(ctx, sts.TokenRequest{Token: token.Token, Userinfo: url.UserPassword("reader@vsphere.local", "pass"), Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := open(v, renewed); err != nil {
		t.Errorf("the renewed token: %v", err)
	}
}

// TestSSOAdmin: the administration of users lists the vCenter's users, and takes changes from administrators.
func TestSSOAdmin(t *testing.T) {
	s := start(t, readers, nil)
	v := s.vcenter(t, "vc")
	ctx := t.Context()
	admin := s.login(t, v)
	tokens, err := sts.NewClient(ctx, admin.Client)
	if err != nil {
		t.Fatal(err)
	}
	login := func(c *govmomi.Client, u *url.Userinfo) *ssoadmin.Client {
		token, err := tokens.Issue(ctx, sts.TokenRequest{Userinfo: u})
		if err != nil {
			t.Fatal(err)
		}
		users, err := ssoadmin.NewClient(ctx, c.Client)
		if err != nil {
			t.Fatal(err)
		}
		if err := users.Login(users.WithHeader(ctx, soap.Header{Security: token})); err != nil {
			t.Fatal(err)
		}
		return users
	}
	users := login(admin, url.UserPassword(v.User(), v.Password()))
	names := func() (all []string) {
		found, err := users.FindPersonUsers(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range found {
			all = append(all, u.Id.Name)
		}
		slices.Sort(all)
		return all
	}
	if got := strings.Join(names(), " "); got != "administrator reader" {
		t.Errorf("users %s", got)
	}
	if err := users.CreatePersonUser(ctx, "new", ssotypes.AdminPersonDetails{}, "Passw0rd!"); err != nil {
		t.Error(err)
	}
	if got := strings.Join(names(), " "); got != "administrator new reader" {
		t.Errorf("users %s", got)
	}
	if err := login(s.loginAs(t, v, "reader@vsphere.local", "pass"), url.UserPassword("reader@vsphere.local", "pass")).DeletePrincipal(ctx, "new"); err == nil {
		t.Error("a user without privileges deletes another")
	}
	forged, err := ssoadmin.NewClient(ctx, admin.Client)
	if err != nil {
		t.Fatal(err)
	}
	if err := forged.Login(forged.WithHeader(ctx, soap.Header{Security: &sts.Signer{Token: `<saml2:Assertion xmlns:saml2="x" ID="_1"/>`}})); err == nil {
		t.Error("a token that no one issued is accepted")
	}
	// A vCenter's own login is not that of SSO's simulator.
	if _, err := govmomi.NewClient(ctx, v.URL(), true); err != nil {
		t.Error(err)
	}
}

// TestClusterModules: modules and their members, per vCenter, changed by those who may.
func TestClusterModules(t *testing.T) {
	s := start(t, readers, nil)
	v := s.vcenter(t, "vc")
	ctx := t.Context()
	c := s.login(t, v)
	m := cluster.NewManager(restOf(t, c, url.UserPassword(v.User(), v.Password())))
	id, err := m.CreateModule(ctx, ref(t, c, "/dc/host/c1"))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := m.AddModuleMembers(ctx, id, ref(t, c, "/dc/vm/vm-1")); err != nil || !ok {
		t.Errorf("member: %t, %v", ok, err)
	}
	if members, err := m.ListModuleMembers(ctx, id); err != nil || len(members) != 1 {
		t.Errorf("members %v, %v", members, err)
	}
	reader := cluster.NewManager(restOf(t, c, url.UserPassword("reader@vsphere.local", "pass")))
	if all, err := reader.ListModules(ctx); err != nil || len(all) != 1 {
		t.Errorf("modules %v, %v", all, err)
	}
	if err := reader.DeleteModule(ctx, id); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a user without privileges deletes a module: %v", err)
	}
	o := s.vcenter(t, "other")
	oc := s.login(t, o)
	if all, err := cluster.NewManager(restOf(t, oc, url.UserPassword(o.User(), o.Password()))).ListModules(ctx); err != nil || len(all) != 0 {
		t.Errorf("the other vCenter has %v, %v", all, err)
	}
}

// TestSupervisors: the namespaces and classes of VMs of each vCenter are its own.
func TestSupervisors(t *testing.T) {
	s := start(t, readers, nil)
	ctx := t.Context()
	var all []*namespace.Manager
	for _, name := range []string{"vc", "other"} {
		v := s.vcenter(t, name)
		all = append(all, namespace.NewManager(restOf(t, s.login(t, v), url.UserPassword(v.User(), v.Password()))))
	}
	m, other := all[0], all[1]
	spec := namespace.NamespacesInstanceCreateSpec{Cluster: "domain-c1", Namespace: "n1"}
	if err := m.CreateNamespace(ctx, spec); err != nil {
		t.Fatal(err)
	}
	if err := m.CreateNamespace(ctx, spec); err == nil {
		t.Error("two namespaces of a name")
	}
	if err := m.CreateVmClass(ctx, namespace.VirtualMachineClassCreateSpec{Id: "small", CpuCount: 2, MemoryMb: 2048}); err != nil {
		t.Fatal(err)
	}
	if err := m.UpdateVmClass(ctx, "small", namespace.VirtualMachineClassUpdateSpec{CpuCount: 4, MemoryMb: 4096}); err != nil {
		t.Error(err)
	}
	if got, err := m.GetVmClass(ctx, "small"); err != nil || got.CpuCount != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	spaces, err := other.ListNamespaces(ctx)
	classes, err2 := other.ListVmClasses(ctx)
	if err != nil || err2 != nil || len(spaces) != 0 || len(classes) != 0 {
		t.Errorf("the other vCenter has %v, %v, %v, %v", spaces, classes, err, err2)
	}
	if err := m.UpdateNamespace(ctx, "n1", namespace.NamespacesInstanceUpdateSpec{}); err != nil {
		t.Error(err)
	}
	if err := m.DeleteNamespace(ctx, "n1"); err != nil {
		t.Error(err)
	}
	if spaces, err = m.ListNamespaces(ctx); err != nil || len(spaces) != 0 {
		t.Errorf("%v, %v", spaces, err)
	}
}

// TestAgents: the manager of agents answers sessions of the vCenter, and refuses strangers.
func TestAgents(t *testing.T) {
	s := start(t, readers, nil)
	v := s.vcenter(t, "vc")
	c := s.login(t, v)
	if all, err := eamobject.NewEsxAgentManager(eam.NewClient(c.Client), eam.EsxAgentManager).Agencies(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	stranger := s.soap(t, v)
	if _, err := eamobject.NewEsxAgentManager(eam.NewClient(stranger), eam.EsxAgentManager).Agencies(t.Context()); err == nil {
		t.Error("a stranger lists the agencies")
	}
}

// TestVsan: the configuration of a cluster is read by all, and changed by those who may.
func TestVsan(t *testing.T) {
	s := start(t, readers, nil)
	v := s.vcenter(t, "vc")
	ctx := t.Context()
	c := s.login(t, v)
	host := ref(t, c, "/dc/host/c1")
	admin, err := vsan.NewClient(ctx, c.Client)
	if err != nil {
		t.Fatal(err)
	}
	spec := vsantypes.VimVsanReconfigSpec{FileServiceConfig: &vsantypes.VsanFileServiceConfig{Enabled: true}}
	task, err := admin.VsanClusterReconfig(ctx, host, spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(ctx); err != nil {
		t.Error(err)
	}
	reader, err := vsan.NewClient(ctx, s.loginAs(t, v, "reader@vsphere.local", "pass").Client)
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.VsanClusterGetConfig(ctx, host)
	if err != nil || got.FileServiceConfig == nil || !got.FileServiceConfig.Enabled {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := reader.VsanClusterReconfig(ctx, host, spec); faultOf(err) != "types.NoPermission" {
		t.Errorf("a user without privileges: %v", err)
	}
}

// TestRESTOfTheRest: each of the smaller REST APIs answers a session, refuses a stranger, and refuses writes of a reader.
func TestRESTOfTheRest(t *testing.T) {
	s := start(t, readers, nil)
	v := s.vcenter(t, "vc")
	c := s.login(t, v)
	admin, reader := restOf(t, c, url.UserPassword(v.User(), v.Password())), restOf(t, c, url.UserPassword("reader@vsphere.local", "pass"))
	call := func(r *rest.Client, method, where string) int {
		t.Helper()
		u := v.URL()
		u.Path = where
		req, err := http.NewRequestWithContext(t.Context(), method, u.String(), strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if r != nil {
			req.Header.Set("vmware-api-session-id", r.SessionID())
		}
		res, err := (&http.Client{Transport: c.DefaultTransport()}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	host := ref(t, c, "/dc/host/c1").Value
	for _, where := range []string{
		"/rest/vcenter/cluster/modules",
		"/api/vcenter/namespaces/instances", "/api/vcenter/namespace-management/clusters",
		"/api/vcenter/namespace-management/virtual-machine-classes", "/api/vcenter/namespace-management/supervisor-services",
		"/api/vcenter/crypto-manager/kms/providers",
		"/api/appliance/access/ssh", "/api/appliance/access/shell", "/api/appliance/access/dcui", "/api/appliance/access/consolecli",
		"/api/appliance/shutdown",
		"/api/esx/settings/depots/offline", "/api/esx/settings/clusters/" + host + "/software/drafts",
		"/api/vcenter/consumption-domains/zones",
		"/api/vcenter/vm/" + ref(t, c, "/dc/vm/vm-1").Value + "/data-sets",
	} {
		if got := call(admin, http.MethodGet, where); got != http.StatusOK && !strings.HasSuffix(where, "/kms/providers") { // which vcsim does not list
			t.Errorf("GET %s: %d", where, got)
		}
		if got := call(nil, http.MethodGet, where); got != http.StatusUnauthorized {
			t.Errorf("GET %s without a session: %d", where, got)
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			for _, one := range []string{where, path.Join(where, "x")} {
				if got := call(reader, method, one); got != http.StatusForbidden {
					t.Errorf("%s %s by a reader: %d, want 403", method, one, got)
				}
			}
		}
	}
}

// TestAbout: methods for every one, counters for those with a login.
func TestAbout(t *testing.T) {
	s := start(t, readers, nil)
	v := s.vcenter(t, "vc")
	c := s.login(t, v)
	get := func(where, user, password string) (status int, text string) {
		t.Helper()
		u := v.URL()
		u.Path = where
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			req.SetBasicAuth(user, password)
		}
		res, err := (&http.Client{Transport: c.DefaultTransport()}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	var about struct{ Methods, Types []string }
	if status, text := get("/about", "", ""); status != http.StatusOK || json.Unmarshal([]byte(text), &about) != nil ||
		!slices.Contains(about.Methods, "PowerOnVM_Task") || !slices.Contains(about.Types, "VirtualMachine") ||
		slices.ContainsFunc(about.Types, func(s string) bool { return strings.HasPrefix(s, "Sandbox") }) {
		t.Errorf("about: %d, types %q", status, about.Types)
	}
	if status, _ := get("/debug/vars", "", ""); status != http.StatusUnauthorized {
		t.Errorf("counters without a login: %d", status)
	}
	var vars struct {
		Vcsim struct {
			Model struct{ Machine, Cluster int }
		}
	}
	if status, text := get("/debug/vars", v.User(), v.Password()); status != http.StatusOK || json.Unmarshal([]byte(text), &vars) != nil || vars.Vcsim.Model.Machine != 1 || vars.Vcsim.Model.Cluster != 1 {
		t.Errorf("counters: %d, %+v", status, vars)
	}
}
