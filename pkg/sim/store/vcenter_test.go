package store_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	client "github.com/vmware/govmomi/vapi/rest"
	vapisim "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/corrections"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/profile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/rest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// vcenter is a vCenter with everything that is saved, served on the loopback, in which an administrator is logged in.
type vcenter struct {
	*vim25.Client
	rest     *client.Client
	policies *pbm.Client
	finder   *find.Finder
	base     *simulator.Context
	access   *access.Manager
	tags     *rest.Handler
	guests   *guest.Guests
	login    *url.Userinfo
	url      *url.URL
}

// made is an empty vCenter that does not serve yet.
type made struct {
	service  *simulator.Service
	base     *simulator.Context
	access   *access.Manager
	tags     *rest.Handler
	profiles *profile.Service
}

// empty makes one.
func empty(t testing.TB, spec *topology.VCenter, content types.ServiceContent, root mo.Folder) *made {
	t.Helper()
	base := simulator.NewContext()
	m := &made{base: base, service: simulator.New(simulator.NewServiceInstance(base, content, root))}
	var err error
	m.access, err = access.New(base, access.Options{Administrator: spec.Administrator(), Users: spec.Users, Roles: spec.Roles})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.access.Close)
	m.service.Listen = &url.URL{Scheme: "https", Host: "127.0.0.1", Path: vim25.Path, User: m.access.InternalUser()}
	base.Map.SessionManager().ValidLogin = m.access.Valid
	m.service.RegisterSDK(base.Map)
	m.profiles = profile.New(profile.Options{Base: base, InstanceUUID: content.About.InstanceUuid})
	profiles := m.profiles.Registry()
	profiles.Handler = m.access.Hook
	m.access.Cookies(profiles)
	m.service.RegisterSDK(profiles)
	paths, next := vapisim.New(m.service.Listen, base.Map)
	m.tags = rest.New(rest.Options{
		Base: base, Next: next, Sessions: m.access, Valid: m.access.ValidPassword, MayRead: m.access.MayRead, MayWrite: m.access.MayTag,
	})
	t.Cleanup(m.tags.Close)
	for _, p := range paths {
		m.service.Handle(p, m.tags)
	}
	return m
}

// serve serves it, and logs in.
func (m *made) serve(t testing.TB, built *inventory.Built) *vcenter {
	t.Helper()
	for _, g := range built.Grants {
		if err := m.access.Grant(g.On, g.Permissions); err != nil {
			t.Fatal(err)
		}
	}
	collectors, err := property.Install(m.base, property.Options{Shown: inventory.Shown})
	if err != nil {
		t.Fatal(err)
	}
	corrections := corrections.Install(m.base, corrections.Options{Visible: m.access.Visible})
	guests := guest.Start(m.base, built.Guests, guest.Options{})
	hosts := host.Install(m.base, host.Options{VCenter: "test", Causing: guests.CausingRef})
	joining := inventory.NewHostAdder(m.base, "8.0.3")
	m.base.Map.Handler = func(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if obj, fault := m.access.Hook(ctx, method); obj != nil || fault != nil {
			return obj, fault
		}
		if fault := corrections.Check(ctx, method); fault != nil {
			return nil, fault
		}
		if fault := hosts.Check(ctx, method); fault != nil {
			return nil, fault
		}
		_ = hosts.Redirect(ctx, method) || guests.Redirect(ctx, method) || joining.Redirect(ctx, method) || corrections.Redirect(ctx, method)
		return nil, nil
	}
	server := httptest.NewTLSServer(m.access.Handler(m.service.ServeMux))
	t.Cleanup(func() {
		collectors.Close()
		hosts.Close()
		guests.Close()
		corrections.Close(m.base)
		server.Close()
	})
	v := &vcenter{base: m.base, access: m.access, tags: m.tags, guests: guests}
	v.url, _ = url.Parse(server.URL)
	v.url.Path = vim25.Path
	admin := m.access.Administrator()
	v.login = url.UserPassword(admin.Name, admin.Password)
	g := v.session(t, v.login)
	v.Client = g.Client
	v.finder = find.NewFinder(v.Client, true)
	if v.policies, err = pbm.NewClient(t.Context(), v.Client); err != nil {
		t.Fatal(err)
	}
	v.rest = client.NewClient(v.Client)
	if err := v.rest.Login(t.Context(), v.login); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.rest.Logout(context.Background()) })
	return v
}

// session logs in.
func (v *vcenter) session(t testing.TB, login *url.Userinfo) *govmomi.Client {
	t.Helper()
	c, err := vim25.NewClient(t.Context(), soap.NewClient(v.url, true))
	if err != nil {
		t.Fatal(err)
	}
	g := &govmomi.Client{Client: c, SessionManager: session.NewManager(c)}
	if err := g.Login(t.Context(), login); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Logout(context.Background()) })
	return g
}

// build builds the one vCenter of a topology, from what is below "vcenters:".
func build(t testing.TB, text string) *vcenter {
	t.Helper()
	const header = "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: test}\n"
	top, err := topology.Load("test.yaml", []byte(header+strings.ReplaceAll(text, "\t", "  ")))
	if err != nil {
		t.Fatal(err)
	}
	spec := &top.Spec.VCenters[0]
	content := simulator.VPX().ServiceContent
	content.About = inventory.About(content.About, spec.Version, spec.Name)
	content.About.InstanceUuid = spec.InstanceUUID
	m := empty(t, spec, content, simulator.VPX().RootFolder)
	built, err := inventory.Make(t.Context(), inventory.Target{
		Context: m.base, Tagger: m.tags, Policies: m.profiles, Dir: t.TempDir(),
	}, spec, &top.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return m.serve(t, built)
}

// load makes a vCenter of a folder.
func load(t testing.TB, dir string) (*vcenter, *store.Loaded) {
	t.Helper()
	saved, err := store.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return install(t, saved), saved
}

func install(t testing.TB, saved *store.Loaded) *vcenter {
	t.Helper()
	spec := saved.Spec()
	m := empty(t, &spec, saved.Content(), saved.RootFolder())
	built, err := saved.Install(t.Context(), store.Target{Context: m.base, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.tags.Restore(saved.Tags()); err != nil {
		t.Fatal(err)
	}
	if err := saved.RestorePolicies(m.profiles); err != nil {
		t.Fatal(err)
	}
	return m.serve(t, built)
}

// save saves it in a new folder.
func (v *vcenter) save(t testing.TB, o store.Options) (string, *store.Summary) {
	t.Helper()
	dir := t.TempDir() + "/saved"
	s, err := store.Save(t.Context(), v.Client, v.rest, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return dir, s
}

func (v *vcenter) vm(t testing.TB, name string) *simulator.VirtualMachine {
	t.Helper()
	for _, e := range v.base.Map.All("VirtualMachine") {
		if e.Entity().Name == name {
			return e.(*simulator.VirtualMachine)
		}
	}
	t.Fatal("no VM " + name)
	return nil
}
