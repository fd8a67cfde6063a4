package explain

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// inGuest makes a node that of a guest cluster whose VirtualMachine is well, with changes.
func inGuest(changes ...func(*Supervisor, *api.VirtualMachine)) func(*Node) {
	return func(c *Node) {
		row := api.VirtualMachine{
			Name: "w1", Namespace: "team-a", VCenter: "us", VM: "w1", Node: "w1", Power: "PoweredOn", WantedPower: "PoweredOn",
			BIOSUUID: uuid1, Addresses: []string{"192.0.2.1"}, Zone: "us-west",
		}
		s := &Supervisor{Namespace: "team-a", Gate: "up", Operates: true}
		for _, change := range changes {
			change(s, &row)
		}
		if row.Name != "" && row.Object == nil {
			row.Object = map[string]any{
				"metadata": map[string]any{"namespace": row.Namespace, "name": row.Name, "labels": map[string]any{corev1.LabelTopologyZone: row.Zone}},
				"status":   map[string]any{"powerState": row.Power, "biosUUID": row.BIOSUUID},
			}
			s.Machines.Is = append(s.Machines.Is, row)
		}
		c.Supervisor = s
	}
}

func TestNodeInGuest(t *testing.T) {
	machine := func(change func(*api.VirtualMachine)) func(*Node) {
		return inGuest(func(_ *Supervisor, m *api.VirtualMachine) { change(m) })
	}
	noUUID := machine(func(m *api.VirtualMachine) { m.BIOSUUID, m.Addresses = "", nil })
	missing := machine(func(m *api.VirtualMachine) { *m = api.VirtualMachine{} })
	checkNodes(t, []nodeCase{
		{"well", node(inGuest()), "Is it initialized?", event.Info, "the CCM found its VirtualMachine", ""},
		{"which", node(inGuest()), "Which VirtualMachine", event.Info, "VirtualMachine team-a/w1, which is VM us/w1", ""},
		{"zone", node(inGuest()), "Where does its zone", event.Info, "of VirtualMachine team-a/w1", ""},
		{"no UUID", node(fresh, noUUID), "Why is it not initialized?", event.Error, "VM Operator reports no BIOS UUID of it yet", ""},
		{"missing", node(fresh, missing), "Why is it not initialized?", event.Error, "its VirtualMachine is missing", "get virtualmachines"},
		{"missing, which", node(fresh, missing), "Which VirtualMachine", event.Error, `namespace "team-a"`, "get virtualmachines"},
		{"another namespace", node(fresh, machine(func(m *api.VirtualMachine) { m.Namespace = "team-b" })), "Why is it not", event.Error, "its VirtualMachine is missing", "get virtualmachines"},
		{"suspended", node(fresh, machine(func(m *api.VirtualMachine) { m.Power, m.Addresses = "Suspended", nil })), "Why is it not", event.Error, "no address of it yet: it is suspended", "powerState"},
		{"off", node(fresh, machine(func(m *api.VirtualMachine) { m.Power, m.Addresses = "PoweredOff", nil })), "Why is it not", event.Error, "it is off", "-n team-a patch virtualmachine w1"},
		{"operator stopped", node(fresh, inGuest(func(s *Supervisor, m *api.VirtualMachine) { s.Operates, m.BIOSUUID = false, "" })), "Why is it not", event.Error, "VM Operator is stopped", ""},
		{"no class", node(fresh, machine(func(m *api.VirtualMachine) {
			m.BIOSUUID, m.VM = "", ""
			m.Conditions = []api.Condition{{Type: "VirtualMachineClassReady", Status: "False", Message: "class not found"}}
		})), "Why is it not", event.Error, "class not found", "describe virtualmachine w1"},
		{"API down", node(fresh, inGuest(func(s *Supervisor, _ *api.VirtualMachine) { s.Gate = "down" })), "Why is it not", event.Error, "cannot ask the Supervisor: its API is down", "vcenter up supervisor"},
		{"not listed", node(fresh, inGuest(func(s *Supervisor, m *api.VirtualMachine) {
			*m, s.Machines.Err = api.VirtualMachine{}, errors.New("refused")
		})), "Why is it not", event.Error, "refused", "get virtualmachines"},
		{"on its way", node(fresh, inGuest()), "Why is it not", event.Warning, "nothing known prevents it", "logs ccm"},
		{"deleted", node(machine(func(m *api.VirtualMachine) { m.Deleting = true })), "Which VirtualMachine", event.Warning, "which is being deleted", ""},
		{"power to be", node(machine(func(m *api.VirtualMachine) { m.WantedPower = "PoweredOff" })), "Which VirtualMachine", event.Warning, "which must be PoweredOff and is PoweredOn", ""},
		{"late", node(powerIs("off"), inGuest()), "Which VirtualMachine", event.Warning, "status is late: it says PoweredOn", ""},
		{"moved", node(machine(func(m *api.VirtualMachine) { m.Zone = "us-east" })), "Where does its zone", event.Warning, "is in zone us-east now", ""},
	})
	for _, q := range node(inGuest()).Explain().Questions {
		for _, e := range q.Evidence {
			if e.Source == cloudConfig {
				t.Errorf("a guest cluster has no cloud-config: %+v", e)
			}
		}
	}
}

func TestServiceInGuest(t *testing.T) {
	on := func(v api.VirtualMachineService, changes ...func(*Supervisor)) func(*Service) {
		return func(c *Service) {
			c.Supervisor = &Supervisor{Namespace: "team-a", Gate: "up", Operates: true}
			v.Name, v.Namespace = "guest-1", "team-a"
			c.Supervisor.Services.Is = []api.VirtualMachineService{v}
			for _, change := range changes {
				change(c.Supervisor)
			}
		}
	}
	of := api.VirtualMachineService{Service: "shop/web", Ingress: []string{"127.1.0.101"}, Endpoints: []string{"w1 (192.0.2.1)"}}
	without := func(change func(*api.VirtualMachineService)) api.VirtualMachineService {
		v := of
		change(&v)
		return v
	}
	for _, tc := range []struct {
		name    string
		service Service
		level   event.Level
		want    string
	}{
		{"answers", service(on(of)), event.Info, "VirtualMachineService guest-1 answers at 127.1.0.101 and forwards to 1 VirtualMachines"},
		{"pool empty", service(on(without(func(v *api.VirtualMachineService) {
			v.Ingress, v.Pending = nil, "the load balancer has no free address"
		}))), event.Error, "has no address: the load balancer has no free address"},
		{"pending", service(on(without(func(v *api.VirtualMachineService) { v.Ingress = nil }))), event.Warning, "which has no address yet"},
		{"no endpoints", service(on(without(func(v *api.VirtualMachineService) { v.Endpoints = nil }))), event.Error, "forwards to nothing"},
		{"deleted", service(on(without(func(v *api.VirtualMachineService) { v.Deleting = true }))), event.Warning, "is being deleted"},
		{"another's", service(on(without(func(v *api.VirtualMachineService) { v.Service = "shop/api" }))), event.Warning, "has made no VirtualMachineService for it"},
		{"API down", service(on(of, func(s *Supervisor) { s.Gate = "down" })), event.Error, "cannot ask the Supervisor"},
		{"unknown", service(on(of, func(s *Supervisor) { s.Services.Err = errors.New("refused") })), event.Warning, "could not be read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, q := range tc.service.Explain().Questions {
				if q.Ask == "What does the Supervisor have of it?" {
					if q.Level != tc.level || !strings.Contains(q.Answer, tc.want) {
						t.Errorf("%s: %s", q.Level, q.Answer)
					}
					return
				}
			}
			t.Error("the question is not asked")
		})
	}
}
