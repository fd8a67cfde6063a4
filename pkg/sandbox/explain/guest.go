package explain

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/binding"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/paravirtual/vmoperator"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Supervisor is what the CCM of a guest cluster asks instead of vCenters.
type Supervisor struct {
	// Namespace is the vSphere Namespace of the guest cluster.
	Namespace string
	// Gate is how its API answers: up, slow, hung, down.
	Gate string
	// Operates: VM Operator runs.
	Operates bool
	// Machines are those of all namespaces.
	Machines Answer[[]api.VirtualMachine]
	// Services are its VirtualMachineServices; only for the case of a Service.
	Services Answer[[]api.VirtualMachineService]
}

// machine returns the VirtualMachine of the node as the CCM finds it, or why it finds none.
func (c Node) machine() (api.VirtualMachine, *vmoperator.VirtualMachine, error) {
	if c.Supervisor.Machines.Err != nil {
		return api.VirtualMachine{}, nil, c.Supervisor.Machines.Err
	}
	rows := map[string]api.VirtualMachine{}
	var vms []*vmoperator.VirtualMachine
	for _, row := range c.Supervisor.Machines.Is {
		if row.Namespace != c.Supervisor.Namespace {
			continue
		}
		vm, err := vmoperator.FromObject(row.Object)
		if err != nil {
			return api.VirtualMachine{}, nil, err
		}
		rows[vm.String()] = row
		vms = append(vms, vm)
	}
	vm, err := binding.Find(c.facts(), c.Supervisor.Namespace, slices.Values(vms))
	if err != nil {
		return api.VirtualMachine{}, nil, err
	}
	return rows[vm.String()], vm, nil
}

// sawSupervisor adds how the Supervisor answers, and decides if it cannot be asked.
func (a Around) sawSupervisor(q *question) {
	s := a.Supervisor
	up := s.Gate == "up" || s.Gate == "slow"
	q.saw(supervisorAPI, verdictOf(up), "its API", "%s", cmp.Or(s.Gate, "unknown"))
	q.saw(supervisorAPI, verdictOf(s.Operates), "VM Operator", "%s", map[bool]string{true: "runs", false: "is stopped"}[s.Operates])
	if !up {
		e := a.newest(func(e event.Event) bool { return e.Object.Kind == "Supervisor" && e.Kind == "gate."+s.Gate })
		q.because(a, e)
		q.answer(event.Error, a.undo(e, "vsphere-sandbox vcenter up supervisor"), "the CCM cannot ask the Supervisor: its API is %s%s", s.Gate, a.who(e))
	}
}

// initializedInGuest says whether the CCM of a guest cluster has taken the node in, and what keeps it from that: the way from the CCM over
// the Supervisor to the status of the VirtualMachine.
func (c Node) initializedInGuest() (q question) {
	row, vm, err := c.machine()
	if q.Ask = "Why is it not initialized?"; !c.uninitialized() {
		q.Ask = "Is it initialized?"
		q.saw(apiServer, verdictOf(c.providerID() != ""), "providerID", "%s", cmp.Or(c.providerID(), "none"))
		if said := c.saidByCCM(&q); said.Level == event.Warning {
			q.answer(event.Warning, "vsphere-sandbox logs ccm", "yes, but the CCM says: %s", said.Message)
		}
		q.answer(event.Info, "", "yes: the CCM found its VirtualMachine and took the uninitialized taint away")
		return q
	}
	q.saw(apiServer, missing, "taint uninitialized", "still there: the CCM has not taken it away")
	c.sawCCM(&q)
	c.sawSupervisor(&q)
	switch {
	case errors.Is(err, match.ErrForeignProviderID), errors.Is(err, match.ErrInvalidProviderID):
		q.answer(event.Error, "kubectl delete node "+c.Name+", then restart its kubelet", "the CCM leaves the node alone: %v", err)
	case errors.Is(err, match.ErrNotFound):
		q.saw(supervisorAPI, missing, "VirtualMachine", "%v", err)
		q.answer(event.Error, lookMachines, "its VirtualMachine is missing: %v", err)
	case err != nil:
		q.saw(supervisorAPI, wrong, "VirtualMachine", "%v", err)
		q.answer(event.Error, lookMachines, "%v", err)
	default:
		c.reported(&q, row, vm)
	}
	if said := c.saidByCCM(&q); said.Level == event.Warning {
		q.answer(event.Error, "vsphere-sandbox logs ccm", "the CCM says: %s", said.Message)
	}
	q.answer(event.Warning, "vsphere-sandbox logs ccm", notReached)
	return q
}

const lookMachines = "vsphere-sandbox get virtualmachines"

// reported says what VM Operator has not reported of a VirtualMachine that a Node needs.
func (c Node) reported(q *question, row api.VirtualMachine, vm *vmoperator.VirtualMachine) {
	q.saw(supervisorAPI, fine, "VirtualMachine "+vm.String(), "%s", cmp.Or(row.Power, "power state not reported"))
	q.saw(supervisorAPI, present(row.BIOSUUID), "its BIOS UUID", "%s", cmp.Or(row.BIOSUUID, "none"))
	q.saw(supervisorAPI, present(strings.Join(row.Addresses, "")), "its addresses", "%s", orNone(strings.Join(row.Addresses, ", ")))
	sawConditions(q, row)
	err := binding.Check(vm, len(row.Addresses))
	if err == nil {
		return
	}
	switch {
	case !c.Supervisor.Operates:
		e := c.newest(func(e event.Event) bool {
			return e.Kind == "fault.injected" && strings.Contains(e.Message, "operator-stopped")
		})
		q.answer(event.Error, c.undo(e, ""), "%v: VM Operator is stopped, and no status changes", err)
	case row.Power == string(vmoperator.PoweredOff), row.Power == string(vmoperator.Suspended):
		q.answer(event.Error, powerOn(row), "%v", err)
	case row.Lacks() != "":
		q.answer(event.Error, "vsphere-sandbox kubectl --context supervisor describe virtualmachine "+row.Name, "%v: %s", err, row.Lacks())
	}
	q.answer(event.Error, "", "%v", err)
}

// powerOn is how the power state of a VirtualMachine is changed: by its spec, which VM Operator makes true.
func powerOn(row api.VirtualMachine) string {
	return "vsphere-sandbox kubectl --context supervisor -n " + row.Namespace + " patch virtualmachine " + row.Name + ` --type=merge -p '{"spec":{"powerState":"PoweredOn"}}'`
}

// sawConditions adds the conditions that are not true.
func sawConditions(q *question, row api.VirtualMachine) {
	for _, condition := range row.NotTrue() {
		q.saw(supervisorAPI, wrong, "condition "+condition.Type, "%s: %s", condition.Status, cmp.Or(condition.Message, condition.Reason))
	}
}

func present(text string) string {
	if text == "" {
		return missing
	}
	return fine
}

// virtualMachine says which VirtualMachine of the Supervisor the node is, and which VM that is in vSphere.
func (c Node) virtualMachine() (q question) {
	q.Ask = "Which VirtualMachine is it?"
	row, vm, err := c.machine()
	q.saw(apiServer, neither, "providerID", "%s", cmp.Or(c.providerID(), "none yet"))
	if err != nil {
		q.saw(supervisorAPI, missing, "VirtualMachine", "%v", err)
		q.answer(event.Error, lookMachines, "none that the CCM finds: %v", err)
		return q
	}
	what := orNone(row.VM)
	if row.VM != "" {
		what = row.VCenter + "/" + row.VM
	}
	q.saw(supervisorAPI, neither, "VirtualMachine "+vm.String(), "%s, BIOS UUID %s, VM %s", cmp.Or(row.Power, "power state not reported"), orNone(row.BIOSUUID), what)
	under := c.under()
	switch {
	case row.Deleting:
		q.saw(supervisorAPI, wrong, "deletionTimestamp", "it is being deleted")
		q.answer(event.Warning, "", "VirtualMachine %s, which is being deleted", vm)
	case row.Power != "" && row.Changing():
		q.saw(supervisorAPI, wrong, "spec.powerState", "%s", row.WantedPower)
		q.answer(event.Warning, "", "VirtualMachine %s, which must be %s and is %s", vm, row.WantedPower, row.Power)
	case row.VM == "":
		sawConditions(&q, row)
		q.answer(event.Error, "", "VirtualMachine %s, which has no VM in vSphere%s", vm, strings.TrimSuffix(": "+row.Lacks(), ": "))
	case under != nil && under.id() != what:
		q.saw(under.source(), wrong, "VM "+under.id(), "its kubelet runs there")
		q.answer(event.Warning, "", "VirtualMachine %s is VM %s; the node's kubelet runs on VM %s", vm, what, under.id())
	case under != nil && under.Power != "" && row.Power != "" && powerWords[under.Power] != row.Power:
		q.saw(under.source(), wrong, "VM "+under.id(), "%s", under.power())
		q.answer(event.Warning, "", "VirtualMachine %s, whose status is late: it says %s, and VM %s is %s", vm, row.Power, under.id(), under.power())
	}
	q.answer(event.Info, "", "VirtualMachine %s, which is VM %s", vm, what)
	return q
}

// powerWords are VM Operator's words for power states of VMs.
var powerWords = map[string]string{"on": string(vmoperator.PoweredOn), "off": string(vmoperator.PoweredOff), "suspended": string(vmoperator.Suspended)}

// placeInGuest says where the zone of a guest cluster's node comes from.
func (c Node) placeInGuest() (q question) {
	q.Ask = "Where does its zone come from?"
	has := c.Node.Is.Labels[corev1.LabelTopologyZone]
	q.saw(apiServer, neither, "zone label of the Node", "%s", orNone(has))
	_, vm, err := c.machine()
	if err != nil {
		q.answer(event.Info, "", "its label stays as it was set: the CCM finds no VirtualMachine to ask")
		return q
	}
	_, zone := binding.Place(vm)
	q.saw(supervisorAPI, present(zone), "zone of VirtualMachine "+vm.String(), "%s", orNone(zone))
	switch {
	case has == "" && c.uninitialized():
		q.answer(event.Info, "", "it has none yet: the CCM sets it when it initializes the node")
	case zone == "":
		q.answer(event.Warning, "", "VirtualMachine %s has no zone", vm)
	case has != zone:
		q.saw(apiServer, wrong, "both", "differ")
		q.answer(event.Warning, "", "VirtualMachine %s is in zone %s now: the CCM sets the label once", vm, zone)
	}
	q.answer(event.Info, "", "from the label or the status of VirtualMachine %s", vm)
	return q
}

// forwarded says what the Supervisor has made of a Service.
func (c Service) forwarded() (q question) {
	s := c.Service
	if c.Supervisor == nil || s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return q
	}
	q.Ask = "What does the Supervisor have of it?"
	c.sawSupervisor(&q)
	if err := c.Supervisor.Services.Err; err != nil {
		q.saw(supervisorAPI, unknown, "VirtualMachineServices", "%v", err)
		q.answer(event.Warning, "", "unknown: its VirtualMachineServices could not be read")
		return q
	}
	i := slices.IndexFunc(c.Supervisor.Services.Is, func(v api.VirtualMachineService) bool { return v.Service == s.Namespace+"/"+s.Name })
	if i < 0 {
		q.saw(supervisorAPI, missing, "VirtualMachineService", "none has the labels of it")
		q.answer(event.Warning, "vsphere-sandbox logs ccm", "nothing: the cloud controller manager has made no VirtualMachineService for it")
		return q
	}
	v := c.Supervisor.Services.Is[i]
	q.saw(supervisorAPI, neither, "VirtualMachineService "+v.Namespace+"/"+v.Name, "ports %s", strings.Join(v.Ports, ", "))
	q.saw(supervisorAPI, present(strings.Join(v.Ingress, "")), "its ingress", "%s", orNone(strings.Join(v.Ingress, ", ")))
	q.saw(supervisorAPI, present(strings.Join(v.Endpoints, "")), "its endpoints", "%s", orNone(strings.Join(v.Endpoints, ", ")))
	for _, e := range v.Events {
		q.saw(supervisorAPI, neither, "Event", "%s", e)
	}
	switch {
	case v.Deleting:
		q.answer(event.Warning, "", "VirtualMachineService %s, which is being deleted", v.Name)
	case v.Pending != "":
		q.answer(event.Error, "vsphere-sandbox fault list", "VirtualMachineService %s has no address: %s", v.Name, v.Pending)
	case len(v.Ingress) == 0:
		q.answer(event.Warning, "", "VirtualMachineService %s, which has no address yet", v.Name)
	case len(v.Endpoints) == 0:
		q.answer(event.Error, lookMachines, "VirtualMachineService %s, which forwards to nothing: no VirtualMachine with an address has the labels that it selects", v.Name)
	}
	q.answer(event.Info, "", "VirtualMachineService %s answers at %s and forwards to %d VirtualMachines", v.Name, and(v.Ingress, "and"), len(v.Endpoints))
	return q
}
