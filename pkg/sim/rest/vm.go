package rest

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

const (
	restVMs = "/rest/vcenter/vm"
	apiVMs  = "/api/vcenter/vm"
)

const getPower = "GET power"

// maxVMs is how many VMs a list has at most; a vCenter refuses longer ones.
const maxVMs = 4000

// vmPath returns what follows the path of the VMs, and false for any other path.
func vmPath(path string) (after string, ok bool) {
	for _, base := range []string{restVMs, apiVMs} {
		if after, ok = strings.CutPrefix(path, base); ok && (after == "" || after[0] == '/') {
			return strings.Trim(after, "/"), true
		}
	}
	return "", false
}

// vms answers a call on VMs: the list, deletion and the power state.
func (h *Handler) vms(w http.ResponseWriter, r *http.Request, path string, api bool) {
	session, user, ok := h.authenticate(r)
	if !ok {
		loginRequired().write(w, api)
		return
	}
	id, sub, _ := strings.Cut(path, "/")
	verb := r.Method + " " + sub
	if api && r.Method == http.MethodPost && sub == "power" {
		verb += "/" + r.URL.Query().Get(actionKey(api))
	}
	var (
		value any
		err   error
		ref   = vc.Ref{Type: "VirtualMachine", Value: id}
	)
	switch {
	case id == "" && verb == "GET ":
		value, err = h.listVMs(user, r.URL.Query(), api)
	case id == "" || verb != getPower && vmTasks[verb] == nil:
		err = noOperation()
	case !h.exists(ref) || !h.mayRead(user, ref):
		err = noVM(ref)
	case verb == getPower:
		value, err = h.vmPower(ref)
	default:
		err = h.runVMTask(context.WithoutCancel(r.Context()), session, ref, vmTasks[verb])
	}
	if err != nil {
		faultOf(err).write(w, api)
		return
	}
	write(w, api, http.StatusOK, value)
}

// vmTasks are the operations on a VM that are SOAP tasks.
var vmTasks = map[string]func(context.Context, soap.RoundTripper, vc.Ref) (task vc.Ref, err error){
	"POST power/start": func(ctx context.Context, c soap.RoundTripper, vm vc.Ref) (vc.Ref, error) {
		res, err := methods.PowerOnVM_Task(ctx, c, &types.PowerOnVM_Task{This: vm})
		if err != nil {
			return vc.Ref{}, err
		}
		return res.Returnval, nil
	},
	"POST power/stop": func(ctx context.Context, c soap.RoundTripper, vm vc.Ref) (vc.Ref, error) {
		res, err := methods.PowerOffVM_Task(ctx, c, &types.PowerOffVM_Task{This: vm})
		if err != nil {
			return vc.Ref{}, err
		}
		return res.Returnval, nil
	},
	"POST power/reset": func(ctx context.Context, c soap.RoundTripper, vm vc.Ref) (vc.Ref, error) {
		res, err := methods.ResetVM_Task(ctx, c, &types.ResetVM_Task{This: vm})
		if err != nil {
			return vc.Ref{}, err
		}
		return res.Returnval, nil
	},
	"POST power/suspend": func(ctx context.Context, c soap.RoundTripper, vm vc.Ref) (vc.Ref, error) {
		res, err := methods.SuspendVM_Task(ctx, c, &types.SuspendVM_Task{This: vm})
		if err != nil {
			return vc.Ref{}, err
		}
		return res.Returnval, nil
	},
	"DELETE ": func(ctx context.Context, c soap.RoundTripper, vm vc.Ref) (vc.Ref, error) {
		res, err := methods.Destroy_Task(ctx, c, &types.Destroy_Task{This: vm})
		if err != nil {
			return vc.Ref{}, err
		}
		return res.Returnval, nil
	},
}

// runVMTask makes a SOAP call in the name of the session's user, and waits for its task.
func (h *Handler) runVMTask(ctx context.Context, session string, vm vc.Ref, call func(context.Context, soap.RoundTripper, vc.Ref) (vc.Ref, error)) error {
	task, err := call(ctx, h.opts.Client(session), vm)
	if err != nil {
		return vmFault(vm, err)
	}
	if _, fault := vc.Await(vc.Fresh(h.opts.Base), task); fault != nil {
		return vmFault(vm, vc.Fault(fault))
	}
	return nil
}

// vmFault converts the error of a SOAP call on a VM. The identifiers of messages were seen on vCenters.
func vmFault(vm vc.Ref, err error) *fault {
	var reason types.AnyType
	switch {
	case soap.IsSoapFault(err):
		reason = soap.ToSoapFault(err).VimFault()
	case soap.IsVimFault(err):
		reason = soap.ToVimFault(err)
	}
	switch f := reason.(type) {
	case types.InvalidPowerState:
		return powerFault(&f)
	case *types.InvalidPowerState:
		return powerFault(f)
	case types.ManagedObjectNotFound, *types.ManagedObjectNotFound:
		return noVM(vm)
	case types.NoPermission, *types.NoPermission:
		return forbidden()
	}
	return newFault(operationError, "", err.Error())
}

func noVM(vm vc.Ref) *fault {
	return newFault(notFound, "com.vmware.api.vcenter.vm.not_found", "Virtual machine with identifier "+vm.Value+" does not exist.", vm.Value)
}

// powerFault says why a VM in its power state does not change to another.
func powerFault(f *types.InvalidPowerState) *fault {
	words := map[types.VirtualMachinePowerState]string{
		types.VirtualMachinePowerStatePoweredOn: "powered on", types.VirtualMachinePowerStatePoweredOff: "powered off",
		types.VirtualMachinePowerStateSuspended: "suspended",
	}
	state := words[f.ExistingState]
	kind, id, text := notAllowed, "com.vmware.api.vcenter.vm.power.not_allowed", "Virtual machine is "+state+"."
	if f.RequestedState == f.ExistingState || f.RequestedState == "" {
		kind, id = alreadyThere, "com.vmware.api.vcenter.vm.power.already_"+strings.ReplaceAll(state, " ", "_")
		text = "Virtual machine is already " + state + "."
	}
	out := newFault(kind, id, text)
	out.messages = append(out.messages, message{
		Args: []string{}, ID: "vmsg.InvalidPowerState.summary",
		Default: "The attempted operation cannot be performed in the current state (" + strings.ToUpper(state[:1]) + state[1:] + ").",
	})
	return out
}

// vmSummary is a VM in the list.
type vmSummary struct {
	VM     string `json:"vm"`
	Name   string `json:"name"`
	Power  string `json:"power_state"`
	CPUs   int32  `json:"cpu_count"`
	Memory int32  `json:"memory_size_MiB"`
}

// powerStates maps the states of SOAP to those of REST.
var powerStates = map[types.VirtualMachinePowerState]string{
	types.VirtualMachinePowerStatePoweredOn:  "POWERED_ON",
	types.VirtualMachinePowerStatePoweredOff: "POWERED_OFF",
	types.VirtualMachinePowerStateSuspended:  "SUSPENDED",
}

// vmFilters are the fields of the list's filter, with the values of a VM. The VM is locked.
var vmFilters = map[string]func(vm *mo.VirtualMachine, cluster, datacenter vc.Ref) string{
	"vms":            func(vm *mo.VirtualMachine, _, _ vc.Ref) string { return vm.Self.Value },
	"names":          func(vm *mo.VirtualMachine, _, _ vc.Ref) string { return vm.Name },
	"power_states":   func(vm *mo.VirtualMachine, _, _ vc.Ref) string { return powerStates[vm.Runtime.PowerState] },
	"folders":        func(vm *mo.VirtualMachine, _, _ vc.Ref) string { return value(vm.Parent) },
	"hosts":          func(vm *mo.VirtualMachine, _, _ vc.Ref) string { return value(vm.Runtime.Host) },
	"resource_pools": func(vm *mo.VirtualMachine, _, _ vc.Ref) string { return value(vm.ResourcePool) },
	"clusters":       func(_ *mo.VirtualMachine, cluster, _ vc.Ref) string { return cluster.Value },
	"datacenters":    func(_ *mo.VirtualMachine, _, datacenter vc.Ref) string { return datacenter.Value },
}

func value(ref *vc.Ref) string {
	if ref == nil {
		return ""
	}
	return ref.Value
}

// parseVMFilter returns the allowed values by field.
func parseVMFilter(query url.Values, api bool) (map[string][]string, error) {
	filter := make(map[string][]string)
	for key, values := range query {
		field, ok := key, true
		if !api {
			if field, ok = strings.CutPrefix(key, "filter."); ok {
				field, _, _ = strings.Cut(field, ".") // filter.names.1
			}
		}
		if !ok || vmFilters[field] == nil {
			return nil, invalid("Unknown parameter %s", key)
		}
		filter[field] = append(filter[field], values...)
	}
	return filter, nil
}

// listVMs lists the VMs that the user may see and that match the filter.
func (h *Handler) listVMs(user string, query url.Values, api bool) ([]vmSummary, error) {
	filter, err := parseVMFilter(query, api)
	if err != nil {
		return nil, err
	}
	ctx := vc.Fresh(h.opts.Base)
	list := []vmSummary{}
	for _, entity := range ctx.Map.All("VirtualMachine") {
		vm, ok := entity.(*simulator.VirtualMachine)
		if !ok || !h.mayRead(user, vm.Self) {
			continue
		}
		var summary vmSummary
		matches := true
		datacenter, _ := vc.Datacenter(ctx.Map, vm.Self)
		ctx.WithLock(vm, func() {
			if vm.Config == nil || vm.Config.Template { // templates are not VMs here
				matches = false
				return
			}
			for field, values := range filter {
				matches = matches && slices.Contains(values, vmFilters[field](&vm.VirtualMachine, clusterOf(ctx, vm), datacenter))
			}
			summary = vmSummary{vm.Self.Value, vm.Name, powerStates[vm.Runtime.PowerState], vm.Config.Hardware.NumCPU, vm.Config.Hardware.MemoryMB}
		})
		if matches {
			list = append(list, summary)
		}
	}
	if len(list) > maxVMs {
		return nil, newFault("unable_to_allocate_resource", "com.vmware.api.vcenter.vm.list.too_many", "Too many virtual machines. Add more filter criteria to reduce the number.")
	}
	slices.SortFunc(list, func(a, b vmSummary) int { return cmp.Compare(a.VM, b.VM) })
	return list, nil
}

// clusterOf returns the cluster or standalone host of a locked VM.
func clusterOf(ctx *simulator.Context, vm *simulator.VirtualMachine) (cluster vc.Ref) {
	if vm.Runtime.Host == nil {
		return vc.Ref{}
	}
	if host, ok := ctx.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem); ok && host.Parent != nil {
		cluster = *host.Parent
	}
	return cluster
}

// vmPower returns the power state of a VM.
func (h *Handler) vmPower(vm vc.Ref) (any, error) {
	ctx := vc.Fresh(h.opts.Base)
	obj, ok := ctx.Map.Get(vm).(*simulator.VirtualMachine)
	if !ok {
		return nil, noVM(vm)
	}
	var state string
	ctx.WithLock(obj, func() { state = powerStates[obj.Runtime.PowerState] })
	return map[string]string{"state": state}, nil
}
