package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// leastRights are those of docs/paravirtual.md that a guest cluster needs for its Nodes and load balancers.
func leastRights() map[string][]string {
	return map[string][]string{"virtualmachines": {"list"}, "virtualmachineservices": {"get", "create", "update", "delete"}}
}

// allow makes the rights of the guest cluster on the Supervisor these, without one verb of one resource.
func (s *sandbox) allow(without, of string) {
	s.T.Helper()
	var rules []rbacv1.PolicyRule
	for resource, verbs := range leastRights() {
		verbs = slices.DeleteFunc(verbs, func(v string) bool { return resource == of && v == without })
		if len(verbs) == 0 {
			continue // a rule needs one
		}
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{"vmoperator.vmware.com"}, Resources: []string{resource}, Verbs: verbs})
	}
	patch, err := json.Marshal(map[string]any{"rules": rules})
	if err != nil {
		s.T.Fatal(err)
	}
	s.Run("kubectl", "--context", "supervisor", "patch", "role", "guest-ccm", "--type=merge", "-p", string(patch))
}

// joins waits until a Node that has been registered again is initialized.
func (s *sandbox) joins(node string) {
	s.T.Helper()
	s.Await(node+" is initialized", time.Minute, func() bool { n := s.Node(node); return n.Registered && n.Initialized && n.ProviderID != "" })
}

// belongs checks that a Node and a Service are shown with their objects on the Supervisor, and why one has no address.
func (s *sandbox) belongs(node, service string) {
	s.T.Helper()
	machines, err := s.Client.VirtualMachines(s.T.Context())
	if i := slices.IndexFunc(machines, func(m api.VirtualMachine) bool { return m.Node == node }); err != nil || i < 0 || machines[i].VM != node || machines[i].Power != "PoweredOn" {
		s.T.Errorf("VirtualMachines: %+v, %v", machines, err)
	}
	services, err := s.Client.VirtualMachineServices(s.T.Context())
	if i := slices.IndexFunc(services, func(v api.VirtualMachineService) bool { return v.Service == service }); err != nil || i < 0 || len(services[i].Ingress) != 1 || len(services[i].Endpoints) != 3 {
		s.T.Errorf("VirtualMachineServices: %+v, %v", services, err)
	}
	shown, err := s.Client.Inspect(s.T.Context(), api.Subject{Kind: "node", Name: node})
	if err != nil || !slices.ContainsFunc(shown.Parts, func(p api.Part) bool {
		return p.Title == "VirtualMachine team-a/"+node && strings.Contains(p.YAML, "powerState: PoweredOn")
	}) {
		s.T.Errorf("the terminal UI's detail: %+v, %v", shown, err)
	}
	s.Run("fault", "inject", "supervisor.pool-empty")
	s.Run("kubectl", "create", "service", "loadbalancer", "pending", "--tcp=80:80")
	s.Await("explain says why it has no address", time.Minute, func() bool {
		return strings.Contains(strings.Join(strings.Fields(s.Run("explain", "service", "pending")), " "), "has no address: the load balancer has no free address")
	})
	s.Run("fault", "heal", "--all")
	s.address("pending")
}

// TestGuestRights: the cloud provider of a guest cluster works with the rights that its page names, on the Supervisor's API server, and says
// which one is missing. Two replicas: the other one takes over.
func TestGuestRights(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHome(t)
	s := h.up("guest", "supervisor", "--ccm-replicas", "2")
	const vms, services = "virtualmachines", "virtualmachineservices"
	expose := func(name string) { s.Run("kubectl", "create", "service", "loadbalancer", name, "--tcp=80:80") }
	refused := func(service, verb string) {
		t.Helper()
		s.says(service, `cannot `+verb+` resource "`+services+`"`)
	}

	s.allow("", "")
	s.Run("ccm", "restart") // a watch that was allowed goes on
	expose("least")
	s.address("least")
	s.belongs("worker-a-1", "default/least")
	s.registerAgain("worker-c-1")
	s.joins("worker-c-1")

	s.allow("list", vms)
	s.registerAgain("worker-c-1")
	s.Await("the Node says which right is missing", time.Minute, func() bool {
		return slices.ContainsFunc(program.Kubectl[corev1.EventList](s.Sandbox, "get", "events", "-A", "--field-selector", "involvedObject.name=worker-c-1,reason=SupervisorForbidden").Items, func(e corev1.Event) bool {
			return strings.Contains(e.Message, `cannot list resource "`+vms+`"`)
		})
	})
	if text := s.Run("explain", "node", "worker-c-1"); !strings.Contains(text, "VirtualMachine team-a/worker-c-1") || !strings.Contains(text, "cannot list resource") {
		t.Errorf("explain node says\n%s", text)
	}
	s.allow("", "")
	s.joins("worker-c-1")

	s.allow("get", services)
	expose("a")
	refused("a", "get")
	s.allow("create", services)
	expose("b")
	refused("b", "create")
	s.allow("update", services)
	s.address("a") // it needs get and create alone
	s.address("b")
	s.Run("kubectl", "patch", "service", "a", "--type=merge", "-p", `{"spec":{"ports":[{"name":"80-80","port":81,"protocol":"TCP","targetPort":80}]}}`)
	refused("a", "update")
	s.allow("delete", services)
	s.Run("kubectl", "delete", "service", "b", "--wait=false")
	refused("b", "delete")
	s.allow("", "")
	s.Run("kubectl", "wait", "--for=delete", "service/b", "--timeout=90s")

	leader := func() string {
		i := slices.IndexFunc(s.Status().Components, func(c api.Component) bool { return c.Leader && strings.HasPrefix(c.Name, "ccm") })
		if i < 0 {
			return ""
		}
		return s.Status().Components[i].Name
	}
	first := leader()
	s.Run("fault", "inject", "ccm.crash-loop")
	s.Await("the other leads", time.Minute, func() bool { l := leader(); return l != "" && l != first })
	expose("later")
	s.address("later")
	s.registerAgain("worker-b-1")
	s.joins("worker-b-1")
	s.Run("fault", "heal", "--all")
	if deleted := s.deleted(0); strings.Contains(deleted, "worker-a-1") {
		t.Errorf("a Node was deleted that nothing happened to: %s", deleted)
	}
}
