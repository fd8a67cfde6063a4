package sim_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net/url"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const small = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: small}
spec:
  vcenters:
  - name: vc
    datacenters:
    - name: dc
      clusters: [{name: c, zone: a, hosts: [{name: "esx-{n}", replicas: 2}]}]
      vms: [{name: "web-{n}", replicas: 3}]
`

// A program runs vCenters for as long as it likes.
func ExampleNew() {
	ctx := context.Background()
	t, err := topology.Load("small.yaml", []byte(small))
	if err != nil {
		log.Fatal(err)
	}
	s, err := sim.New(ctx, sim.Options{Topology: t, Addresses: []string{"127.0.0.1:0"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(ctx)

	client, err := login(ctx, s)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Logout(ctx)
	vms, err := find.NewFinder(client.Client).VirtualMachineList(ctx, "/dc/vm/*")
	if err != nil {
		log.Fatal(err)
	}
	for _, vm := range vms {
		fmt.Println(vm.InventoryPath)
	}
	// Output:
	// /dc/vm/web-1
	// /dc/vm/web-2
	// /dc/vm/web-3
}

// A rule of the gate breaks some calls and leaves the others alone.
func ExampleVCenter_Gate() {
	ctx := context.Background()
	t, err := topology.Load("small.yaml", []byte(small))
	if err != nil {
		log.Fatal(err)
	}
	s, err := sim.New(ctx, sim.Options{Topology: t, Addresses: []string{"127.0.0.1:0"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(ctx)
	vcenter := s.VCenters()[0]
	client, err := login(ctx, s)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Logout(ctx)
	vm, err := find.NewFinder(client.Client).VirtualMachine(ctx, "/dc/vm/web-1")
	if err != nil {
		log.Fatal(err)
	}

	_, err = vcenter.Gate().Add(gate.Rule{
		Match:  gate.Match{Methods: []string{"PowerOffVM_Task"}, Object: gate.Object{Name: "web-1"}},
		Action: gate.Fault{Type: "NoPermission", Fields: map[string]any{"privilegeId": "VirtualMachine.Interact.PowerOff"}},
		Count:  1,
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = vm.PowerOff(ctx)
	fmt.Printf("%T\n", soap.ToSoapFault(err).VimFault())
	task, err := vm.PowerOff(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.Wait(ctx))
	// Output:
	// types.NoPermission
	// <nil>
}

// login verifies the vCenter's certificate, as any client should.
func login(ctx context.Context, s *sim.Simulation) (*govmomi.Client, error) {
	v := s.VCenters()[0]
	sc := soap.NewClient(v.URL(), false)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA())
	sc.DefaultTransport().TLSClientConfig = &tls.Config{RootCAs: roots}
	c, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return nil, err
	}
	client := &govmomi.Client{Client: c, SessionManager: session.NewManager(c)}
	return client, client.Login(ctx, url.UserPassword(v.User(), v.Password()))
}
