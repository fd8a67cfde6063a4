package sim

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/trim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// hosts are those that the VMs are on.
const hosts = 16

// vcenter is a running vCenter of either side.
type vcenter struct {
	url   *url.URL // with user and password
	ca    string   // file; empty: not verified
	close func() error
}

// start builds one.
func start(ctx context.Context, side string, vms int) (*vcenter, error) {
	if side == "stock" {
		s, err := stocksim.Start(hosts, vms)
		if err != nil {
			return nil, err
		}
		return &vcenter{url: s.URL(), close: func() error { s.Remove(); return nil }}, nil
	}
	top, err := topology.Load("benchsim", fmt.Appendf(nil, `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: bench}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          zone: z
          clusters: [{name: c, hosts: [{name: "host-{n}", replicas: %d}]}]
          vms: [{name: "vm-{nnnnn}", replicas: %d, cluster: c}]
`, hosts, vms))
	if err != nil {
		return nil, err
	}
	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	s, err := sim.New(ctx, sim.Options{Topology: top, Dir: dir, Addresses: []string{"127.0.0.1:0"}})
	if err != nil {
		return nil, err
	}
	trim.Inventory(vms) // as the program does
	v := s.VCenters()[0]
	ca := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(ca, s.CA(), 0o600); err != nil {
		return nil, err
	}
	u := *v.URL()
	u.User = url.UserPassword(v.User(), v.Password())
	return &vcenter{url: &u, ca: ca, close: func() error {
		if err := s.Close(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		return os.RemoveAll(dir)
	}}, nil
}

// scratch is a directory for the files of datastores, as both sides have it: the system's temporary one.
func scratch() (string, error) { return os.MkdirTemp("", "benchsim-") }

// login returns a client with its own session and connections.
func (v *vcenter) login(ctx context.Context) (*vim25.Client, error) {
	sc := soap.NewClient(v.url, v.ca == "")
	if v.ca != "" {
		if err := sc.SetRootCAs(v.ca); err != nil {
			return nil, err
		}
	}
	c, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return nil, err
	}
	return c, session.NewManager(c).Login(ctx, v.url.User)
}
