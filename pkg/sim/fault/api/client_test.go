package api

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
)

const source = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: two}
spec:
  vcenters:
  - name: us
    datacenters:
    - name: dcus
      clusters: [{name: us, hosts: [{name: esx-us}]}]
      vms:
      - {name: worker-us-1, cluster: us, role: worker}
      - {name: worker-us-2, cluster: us, role: worker}
  - name: eu
    datacenters:
    - name: dceu
      clusters: [{name: eu, hosts: [{name: esx-eu}]}]
      vms:
      - {name: worker-eu-1, cluster: eu, role: worker}
`

// The User-Agents that the names of clients stand for.
const (
	agentCCM      = "vsphere-cloud-provider"
	agentUpstream = "k8s-cloud-provider-vsphere"
	agentCSI      = "k8s-csi-useragent-cluster-1-driver"
	agentGovc     = "govc/0.56.0"
)

// caller is a client of a vCenter as it comes by its gate.
type caller struct {
	*govmomi.Client
	rest *rest.Client
	user *url.Userinfo
}

// newCaller connects, without a login.
func newCaller(ctx context.Context, w *faulttest.World, vcenter, agent string) (*caller, error) {
	v, _ := w.VCenter(vcenter)
	sc := soap.NewClient(v.URL(), false)
	if err := sc.SetRootCAs(w.CAFile); err != nil {
		return nil, err
	}
	sc.UserAgent = agent
	vc, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return nil, err
	}
	return &caller{
		Client: &govmomi.Client{Client: vc, SessionManager: session.NewManager(vc)}, rest: rest.NewClient(vc),
		user: url.UserPassword(v.User(), v.Password()),
	}, nil
}

// call does what a client does: it logs in to SOAP and REST, and asks both for something.
func call(ctx context.Context, w *faulttest.World, vcenter, agent string) error {
	c, err := newCaller(ctx, w, vcenter, agent)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	if err := c.login(ctx); err != nil {
		return err
	}
	defer c.logout()
	return c.ask(ctx, vcenter)
}

func (c *caller) login(ctx context.Context) error {
	if err := c.SessionManager.Login(ctx, c.user); err != nil {
		return err
	}
	return c.rest.Login(ctx, c.user)
}

func (c *caller) logout() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // the vCenter may be away
	defer cancel()
	_ = c.rest.Logout(ctx)
	_ = c.SessionManager.Logout(ctx)
}

// ask asks SOAP and REST.
func (c *caller) ask(ctx context.Context, vcenter string) error {
	if err := c.askSOAP(ctx, vcenter); err != nil {
		return err
	}
	return c.askREST(ctx)
}

func (c *caller) askSOAP(ctx context.Context, vcenter string) error {
	_, err := object.NewSearchIndex(c.Client.Client).FindByInventoryPath(ctx, "/dc"+vcenter)
	return err
}

// askREST asks for the categories of tags.
func (c *caller) askREST(ctx context.Context) error {
	var ids []string
	return c.rest.Do(ctx, c.rest.Resource("/com/vmware/cis/tagging/category").Request("GET"), &ids)
}

// logged returns a client that has logged in.
func logged(t *testing.T, w *faulttest.World, vcenter, agent string) *caller {
	t.Helper()
	c, err := newCaller(t.Context(), w, vcenter, agent)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.login(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.logout)
	if err := c.ask(t.Context(), vcenter); err != nil {
		t.Fatal(err)
	}
	return c
}

// soon is a context for what may never come.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}
