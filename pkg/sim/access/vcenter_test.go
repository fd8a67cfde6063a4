package access_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

const admin = "administrator@vc.local"

// vcenter is vcsim with our access control, served on the loopback.
type vcenter struct {
	*access.Manager
	ctx   *simulator.Context
	url   *url.URL
	ended chan string // keys of SOAP sessions, as they end
}

// newVCenter builds two datacenters with a cluster, a standalone host and four VMs each. It must not run in parallel:
// Model.Create writes to variables of its package.
func newVCenter(t testing.TB, options access.Options) *vcenter {
	t.Helper()
	model := simulator.VPX()
	model.Datacenter, model.Autostart = 2, false
	model.ClusterHost, model.Host, model.Machine = 1, 1, 2
	if err := model.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Remove)

	v := &vcenter{ctx: model.Service.Context, ended: make(chan string, 100)}
	collectors, err := property.Install(v.ctx, property.Options{
		Visible:  func(ctx *simulator.Context, ref vc.Ref) bool { return v.Visible(ctx, ref) },
		Readable: func(ctx *simulator.Context, ref vc.Ref) bool { return v.Readable(ctx, ref) },
	})
	if err != nil {
		t.Fatal(err)
	}
	changed := options.OnChange
	options.OnChange = func() {
		collectors.Recheck()
		if changed != nil {
			changed()
		}
	}
	options.Administrator = admin
	options.OnEnd = func(key string) {
		collectors.EndSession(key)
		v.ended <- key
	}
	if v.Manager, err = access.New(v.ctx, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Manager.Close)

	v.ctx.Map.Handler = v.Hook
	v.ctx.Map.SessionManager().ValidLogin = v.Valid
	model.Service.Listen = &url.URL{User: v.InternalUser()}
	model.Service.RegisterSDK(v.ctx.Map)
	server := httptest.NewTLSServer(v.Handler(model.Service.ServeMux))
	t.Cleanup(func() {
		collectors.Close() // or the server waits for the long polls
		server.Close()
	})
	v.url, _ = url.Parse(server.URL + vim25.Path)
	return v
}

// users are accounts with passwords that are their names.
func users(names ...string) []topology.User {
	var list []topology.User
	for _, n := range names {
		list = append(list, topology.User{Name: n, Password: n})
	}
	return list
}

// client is a client without a session.
func (v *vcenter) client(t testing.TB) *vim25.Client {
	t.Helper()
	c, err := vim25.NewClient(t.Context(), soap.NewClient(v.url, true))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// as opens a session of the user.
func (v *vcenter) as(t testing.TB, user string) *vim25.Client {
	t.Helper()
	u, ok := v.User(user)
	if !ok {
		t.Fatalf("no user %q", user)
	}
	c := v.client(t)
	if err := session.NewManager(c).Login(t.Context(), url.UserPassword(user, u.Password)); err != nil {
		t.Fatal(err)
	}
	return c
}

// key is the session of a client.
func (v *vcenter) key(t testing.TB, c *vim25.Client) string {
	t.Helper()
	u, err := session.NewManager(c).UserSession(t.Context())
	if err != nil || u == nil {
		t.Fatalf("no session: %v", err)
	}
	return u.Key
}

// all lists the objects of a type in a lasting order.
func (v *vcenter) all(kind string) []vc.Ref {
	var refs []vc.Ref
	for _, e := range v.ctx.Map.All(kind) {
		refs = append(refs, e.Reference())
	}
	slices.SortFunc(refs, func(a, b vc.Ref) int {
		if len(a.Value) != len(b.Value) {
			return len(a.Value) - len(b.Value)
		}
		return slices.Compare([]byte(a.Value), []byte(b.Value))
	})
	return refs
}

// in lists the objects of a type in a datacenter.
func (v *vcenter) in(dc vc.Ref, kind string) []vc.Ref {
	return slices.DeleteFunc(v.all(kind), func(ref vc.Ref) bool {
		in, ok := vc.Datacenter(v.ctx.Map, ref)
		return !ok || in != dc
	})
}

// end waits for a session of SOAP to end.
func (v *vcenter) end(t testing.TB) string {
	t.Helper()
	select {
	case key := <-v.ended:
		return key
	case <-time.After(patience):
		t.Fatal("no session ended")
		return ""
	}
}

// together runs f so often at once.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// root is the root folder.
func (v *vcenter) root() vc.Ref { return simulatorRoot(v.ctx) }

func simulatorRoot(ctx *simulator.Context) vc.Ref {
	return ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.RootFolder
}

// plain is a client of HTTP that trusts anybody.
func (v *vcenter) plain() *http.Client {
	return &http.Client{Transport: soap.NewClient(v.url, true).DefaultTransport()}
}

func typeName(v any) string { return reflect.TypeOf(v).Elem().Name() }
