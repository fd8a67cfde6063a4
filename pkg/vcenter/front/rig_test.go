package front_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/front"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// rig is stock vcsim behind a front.
type rig struct {
	front   *front.Front
	direct  *vcenter.Connection // past everything
	journal *journal.Journal
	file    string // the journal's
	ca      *cert.CA
	user    *url.Userinfo
	scope   scope.Scope
}

func start(t *testing.T, s scope.Scope) *rig {
	t.Helper()
	server, err := stocksim.Serve(stocksim.Options{User: "admin", Password: "a & b", VMs: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Remove)
	return before(t, server.URL().Host, url.UserPassword("admin", "a & b"), s)
}

// before opens a front of the vCenter at an address.
func before(t *testing.T, address string, user *url.Userinfo, s scope.Scope) *rig {
	t.Helper()
	password, _ := user.Password()
	config, err := vcenter.FromEnvironment([]string{
		"GOVC_URL=" + address, "GOVC_USERNAME=" + user.Username(), "GOVC_PASSWORD=" + password, "GOVC_INSECURE=true",
	})
	if err != nil {
		t.Fatal(err)
	}
	v := config.VCenters[0]
	v.Name = "far"
	r := &rig{file: filepath.Join(t.TempDir(), "writes.jsonl"), user: user, scope: s}
	if r.direct, err = v.Connect(t.Context(), vcenter.Options{UserAgent: "direct"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.direct.Close)
	r.open(t)
	if r.ca, err = cert.NewCA("test"); err != nil {
		t.Fatal(err)
	}
	r.front = r.behind(t, v)
	return r
}

// behind opens a front of a vCenter.
func (r *rig) behind(t *testing.T, v vcenter.VCenter) *front.Front {
	t.Helper()
	return r.guarded(t, v, &guard.Guard{Scope: r.scope, Journal: r.journal, Connection: r.direct}, nil)
}

// guarded opens a front with a guard of the test's.
func (r *rig) guarded(t *testing.T, v vcenter.VCenter, g front.Guard, logger *slog.Logger) *front.Front {
	t.Helper()
	listeners, _, err := loopback.Listen(t.Context(), loopback.Place{Addresses: []string{"127.0.0.1:0"}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := front.New(front.Options{
		VCenter: v, Listener: listeners[0], CA: r.ca, Guard: g, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f
}

// open opens the journal, as a run does after one that has died.
func (r *rig) open(t *testing.T) {
	t.Helper()
	j, err := journal.Open(r.file)
	if err != nil {
		t.Fatal(err)
	}
	r.journal = j
	t.Cleanup(func() { _ = j.Close() }) // some are closed before
}

// client is one that trusts our authority alone, logged in over SOAP and REST.
func (r *rig) client(t *testing.T, agent string) (*govmomi.Client, *rest.Client) {
	t.Helper()
	u := r.front.URL()
	sc := soap.NewClient(u, false)
	sc.UserAgent = agent
	sc.DefaultTransport().TLSClientConfig.RootCAs = r.ca.Pool()
	vim, err := vim25.NewClient(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	c := &govmomi.Client{Client: vim, SessionManager: session.NewManager(vim)}
	if err := c.Login(t.Context(), r.user); err != nil {
		t.Fatal(err)
	}
	rc := rest.NewClient(vim)
	if err := rc.Login(t.Context(), r.user); err != nil {
		t.Fatal(err)
	}
	return c, rc
}

func vms(t *testing.T, c *vim25.Client) []*object.VirtualMachine {
	t.Helper()
	all, err := find.NewFinder(c).VirtualMachineList(t.Context(), "/...")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// powers reads the power states past the front.
func (r *rig) powers(t *testing.T) map[string]string {
	t.Helper()
	states := map[string]string{}
	err := r.direct.Do(t.Context(), func(ctx context.Context, vim *vim25.Client) error {
		for _, vm := range vms(t, vim) {
			var m mo.VirtualMachine
			if err := property.DefaultCollector(vim).RetrieveOne(ctx, vm.Reference(), []string{"runtime.powerState"}, &m); err != nil {
				return err
			}
			states[vm.Name()] = string(m.Runtime.PowerState)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func get(t *testing.T, r *rig, path string) *http.Response {
	t.Helper()
	sc := soap.NewClient(r.front.URL(), false)
	sc.DefaultTransport().TLSClientConfig.RootCAs = r.ca.Pool()
	u := *r.front.URL()
	u.Path = path
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := sc.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// tag makes a tag, past the front.
func (r *rig) tag(t *testing.T) (id string) {
	t.Helper()
	err := r.direct.DoREST(t.Context(), func(ctx context.Context, rc *rest.Client) error {
		m := tags.NewManager(rc)
		category, err := m.CreateCategory(ctx, &tags.Category{Name: "env", Cardinality: "SINGLE", AssociableTypes: []string{"VirtualMachine"}})
		if err == nil {
			id, err = m.CreateTag(ctx, &tags.Tag{Name: "test", CategoryID: category})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// reidentify gives a VM another instance UUID, past the front.
func (r *rig) reidentify(t *testing.T, vm types.ManagedObjectReference) {
	t.Helper()
	err := r.direct.Do(t.Context(), func(ctx context.Context, vim *vim25.Client) error {
		task, err := object.NewVirtualMachine(vim, vm).Reconfigure(ctx, types.VirtualMachineConfigSpec{InstanceUuid: uuid.NewString()})
		if err == nil {
			err = task.Wait(ctx)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
