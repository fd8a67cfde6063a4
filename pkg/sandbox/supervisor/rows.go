package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/binding"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/vmoperator"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
	sv "github.com/vsphere-sandbox/vsphere-sandbox/pkg/supervisor"
)

// Register adds the handlers of the control API.
func (p *Part) Register(mux *http.ServeMux) {
	mux.Handle("GET /v1/virtualmachines", control.Answer(func(context.Context) (any, error) { return p.Machines() }))
	mux.Handle("GET /v1/virtualmachineservices", control.Answer(func(ctx context.Context) (any, error) { return p.Services(ctx) }))
}

// Machines lists the VirtualMachines by namespace and name: none without a Supervisor.
func (p *Part) Machines() ([]api.VirtualMachine, error) {
	all := []api.VirtualMachine{}
	s := p.Supervisor()
	if s == nil {
		return all, nil
	}
	objects, err := s.Machines()
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		row, err := p.machineRow(o)
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, p.bind(all)
}

// State returns what explanations are gathered from, with VirtualMachineServices if they are asked for.
func (p *Part) State(ctx context.Context, services bool) *explain.Supervisor {
	state := &explain.Supervisor{Namespace: p.Topology().Spec.Supervisor.GuestClusters[0].Namespace}
	if g := p.Gate(); g != nil {
		state.Gate = string(g.Mode().State)
	}
	if s := p.Supervisor(); s != nil {
		state.Operates = s.Operates()
	}
	state.Machines.Is, state.Machines.Err = p.Machines()
	if services {
		state.Services.Is, state.Services.Err = p.Services(ctx)
	}
	return state
}

func (p *Part) machineRow(o *unstructured.Unstructured) (api.VirtualMachine, error) {
	vm, err := vmoperator.FromObject(o.Object)
	if err != nil {
		return api.VirtualMachine{}, err
	}
	_, zone := binding.Place(vm)
	row := api.VirtualMachine{
		Name: vm.Name, Namespace: vm.Namespace, Guest: vm.Labels[sv.ClusterLabel], Power: string(vm.Status.PowerState), BIOSUUID: vm.Status.BiosUUID,
		Zone: zone, Deleting: vm.DeletionTimestamp != nil, Created: vm.CreationTimestamp.Time, Object: bare(o),
	}
	row.WantedPower, _, _ = unstructured.NestedString(o.Object, "spec", "powerState")
	row.Class, _, _ = unstructured.NestedString(o.Object, "spec", "className")
	for _, ip := range []string{vm.Status.Network.PrimaryIP4, vm.Status.Network.PrimaryIP6} {
		if ip != "" {
			row.Addresses = append(row.Addresses, ip)
		}
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err := convert(conditions, &row.Conditions); err != nil {
		return api.VirtualMachine{}, err
	}
	id, _, _ := unstructured.NestedString(o.Object, "status", "uniqueID")
	row.MoRef = id
	c := center{p}
	if known, ok := c.VM(id); ok {
		row.VCenter, row.VM = c.vcenter().Row().Name, known.Name
	}
	return row, nil
}

// bind sets the Node of each VirtualMachine, as the cloud provider finds it.
func (p *Part) bind(all []api.VirtualMachine) error {
	index := map[string]*api.VirtualMachine{}
	var vms []*vmoperator.VirtualMachine
	for i := range all {
		vm, err := vmoperator.FromObject(all[i].Object)
		if err != nil {
			return err
		}
		index[vm.String()] = &all[i]
		vms = append(vms, vm)
	}
	for _, g := range setupOf(p.Topology()).Guests {
		namespace := slices.DeleteFunc(slices.Clone(vms), func(vm *vmoperator.VirtualMachine) bool { return vm.Namespace != g.Namespace })
		for _, n := range p.Nodes() {
			if !n.Registered {
				continue
			}
			// An error means that the Node has no VM; explain has the reason.
			if vm, err := binding.Find(match.Node{Name: n.Name, ProviderID: n.ProviderID}, g.Namespace, slices.Values(namespace)); err == nil {
				index[vm.String()].Node = n.Name
			}
		}
	}
	return nil
}

// bare returns an object without what only the API server reads.
func bare(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetManagedFields(nil)
	return o.Object
}

func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// Services lists the VirtualMachineServices by namespace and name: none without a Supervisor.
func (p *Part) Services(ctx context.Context) ([]api.VirtualMachineService, error) {
	all := []api.VirtualMachineService{}
	s := p.Supervisor()
	if s == nil {
		return all, nil
	}
	services, err := s.Services(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range services {
		row, err := serviceRow(o)
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, nil
}

func serviceRow(o sv.Service) (api.VirtualMachineService, error) {
	have := new(vmoperator.VirtualMachineService)
	if err := convert(o.Object, have); err != nil {
		return api.VirtualMachineService{}, fmt.Errorf("VirtualMachineService: %w", err)
	}
	row := api.VirtualMachineService{
		Name: have.Name, Namespace: have.Namespace, Guest: have.Labels[vmoperator.LabelCluster], Type: have.Spec.Type,
		Endpoints: o.Endpoints, Pending: o.Pending, Deleting: have.DeletionTimestamp != nil, Created: have.CreationTimestamp.Time, Object: bare(o.Unstructured),
	}
	if name := have.Labels[vmoperator.LabelService]; name != "" {
		row.Service = have.Labels[vmoperator.LabelServiceNamespace] + "/" + name
	}
	for _, port := range have.Spec.Ports {
		row.Ports = append(row.Ports, fmt.Sprintf("%d→%d/%s", port.Port, port.TargetPort, port.Protocol))
	}
	for _, i := range have.Status.LoadBalancer.Ingress {
		row.Ingress = append(row.Ingress, i.IP)
	}
	for _, e := range o.Events {
		row.Events = append(row.Events, e.Reason+": "+e.Message)
	}
	return row, nil
}
