package stocksim_test

import (
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vapi/rest"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
)

// TestServe: only the configured user can log in, over SOAP and REST.
func TestServe(t *testing.T) {
	s, err := stocksim.Serve(stocksim.Options{User: "admin", Password: "s3cret", Clusters: 2, VMs: 1, Version: "8.0.3"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	c, err := govmomi.NewClient(t.Context(), s.URL(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	if about := c.ServiceContent.About; about.Version != "8.0.3" || about.ApiVersion != "8.0.3.0" || about.InstanceUuid == "" {
		t.Errorf("%+v", about)
	}
	vms, err := find.NewFinder(c.Client).VirtualMachineList(t.Context(), "/DC0/vm/*")
	if err != nil || len(vms) != 2 {
		t.Errorf("%d VMs, %v", len(vms), err)
	}
	if err := rest.NewClient(c.Client).Login(t.Context(), s.URL().User); err != nil {
		t.Error(err)
	}
	wrong := url.UserPassword("admin", "wrong")
	if err := rest.NewClient(c.Client).Login(t.Context(), wrong); err == nil {
		t.Error("REST takes any password")
	}
	u := s.URL()
	u.User = wrong
	if _, err := govmomi.NewClient(t.Context(), u, true); err == nil {
		t.Error("SOAP takes any password")
	}
}

func TestServeRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = stocksim.Serve(stocksim.Options{Address: l.Addr().String(), User: "u", Password: "p"})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v", err)
	}
	if _, err := stocksim.Serve(stocksim.Options{User: "u"}); err == nil {
		t.Error("serves without a password")
	}
}
