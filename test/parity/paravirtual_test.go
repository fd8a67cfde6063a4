package parity

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// guestDifferences are the differences between the two providers in a guest cluster that docs/paravirtual.md documents: the object's field,
// and where it is written.
var guestDifferences = []struct{ field, why string }{
	{`^Node \S+ address Hostname$`, "the Hostname address of a Node is empty"},
	{`^Node worker-b-1 suspended taint$`, "a suspended VM is not shut down"},
}

// TestParavirtual runs this module's program and upstream's release in the same guest cluster of a Supervisor, with RouteSets and in a VPC,
// and compares what becomes of Nodes, Services, VirtualMachineServices, routes and networks of pods, field by field. A difference that
// docs/paravirtual.md does not have fails it.
//
//	make parity MODE=paravirtual
func TestParavirtual(t *testing.T) {
	if !*enabled {
		t.Skip("boots two sandboxes and builds a release: make parity MODE=paravirtual runs it")
	}
	all, err := releases(t)
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	for name, n := range map[string]guestNetwork{
		"RouteSets": {[]string{"routesets"}, []string{"--ccm-arg=--controllers=*", "--ccm-arg=--cluster-cidr=10.128.0.0/16"}},
		"VPC":       {[]string{"staticroutes", "ipaddressallocations"}, []string{"--set", "network=vpc"}},
	} {
		t.Run(name, func(t *testing.T) { compareGuests(t, last, n) })
	}
}

// guestNetwork is a network of a guest cluster: the resources that its Nodes have objects of, and the arguments of "up" for it.
type guestNetwork struct{ resources, args []string }

func compareGuests(t *testing.T, last side, n guestNetwork) {
	ours, theirs := guestCluster(t, "builtin", n), guestCluster(t, last.path, n)
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintf(table, "OBJECT\tOURS\t%s\t\n", strings.ToUpper(last.name))
	keys := slices.Sorted(maps.Keys(theirs))
	for key := range ours {
		if _, ok := theirs[key]; !ok {
			keys = append(keys, key)
		}
	}
	page, err := os.ReadFile("../../docs/paravirtual.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		mine, other := ours[key], theirs[key]
		verdict := "same"
		if mine != other {
			verdict = "DIFFERENT"
			for _, e := range guestDifferences {
				if regexp.MustCompile(e.field).MatchString(key) {
					verdict = "explained: " + e.why
					if !strings.Contains(string(page), e.why) {
						t.Errorf("docs/paravirtual.md does not have %q", e.why)
					}
				}
			}
			if verdict == "DIFFERENT" {
				t.Errorf("%s: %q, upstream %q", key, mine, other)
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", key, mine, other, verdict)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if len(keys) < 30 {
		t.Errorf("only %d fields were compared", len(keys))
	}
}

// facts are what a provider made, by object and field.
type facts map[string]string

// guestCluster runs a cloud controller manager in a guest cluster through the life of Nodes, Services and routes.
func guestCluster(t *testing.T, ccm string, network guestNetwork) facts {
	t.Helper()
	binary, err := program.Find()
	if err != nil {
		t.Fatal(err)
	}
	h := program.NewHome(t, program.Options{Binary: binary, Patience: 8 * time.Minute})
	t.Cleanup(func() { h.End(h.State, h.Tmp) })
	h.Must(append([]string{"--name", "guest", "up", "supervisor", "-d", "--csi", "off", "--ccm", ccm}, network.args...)...)
	s := h.Attach("guest")
	t.Cleanup(func() { h.Try("--name", "guest", "down") })
	found := facts{}
	s.Run("kubectl", "create", "-f", h.File("services.yaml", parityServices))
	for _, name := range []string{"plain", "local"} {
		s.Await(name+" has an address", time.Minute, func() bool {
			return len(program.Kubectl[corev1.Service](s, "get", "service", name).Status.LoadBalancer.Ingress) > 0
		})
	}
	found.services(s, "created")
	s.Run("kubectl", "patch", "service", "plain", "--type=merge", "-p", `{"spec":{"ports":[{"name":"https","port":443,"nodePort":30443,"protocol":"TCP"}],"loadBalancerSourceRanges":["10.0.0.0/8"]}}`)
	s.Run("kubectl", "patch", "service", "local", "--type=merge", "-p", `{"spec":{"externalTrafficPolicy":"Cluster"}}`)
	s.Await("the changes", time.Minute, func() bool {
		return strings.Contains(s.Run("kubectl", "--context", "supervisor", "get", "virtualmachineservices", "-o", "yaml"), "30443") &&
			!strings.Contains(s.Run("kubectl", "--context", "supervisor", "get", "virtualmachineservices", "-o", "yaml"), "healthCheckNodePort")
	})
	found.services(s, "changed")
	has := func(count int) func() bool {
		return func() bool {
			return !slices.ContainsFunc(network.resources, func(resource string) bool { return len(onSupervisor(s, resource)) != count })
		}
	}
	s.Await("routes", time.Minute, has(4))
	s.Await("no Node waits for its route", time.Minute, func() bool {
		return !slices.ContainsFunc(program.Kubectl[corev1.NodeList](s, "get", "nodes").Items, func(n corev1.Node) bool {
			return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNetworkUnavailable })
		})
	})
	for _, n := range program.Kubectl[corev1.NodeList](s, "get", "nodes").Items {
		found.node(n)
	}
	for _, resource := range network.resources {
		for _, o := range onSupervisor(s, resource) {
			found.object(o)
			// Which Node has which subnet depends on the order in which they registered.
			n := program.Kubectl[corev1.Node](s, "get", "node", o.GetName())
			at := o.GetKind() + " " + o.GetName() + " spec"
			found[at] = strings.NewReplacer(n.Spec.PodCIDR, "CIDR", strings.ReplaceAll(n.Spec.PodCIDR, "/", "-"), "CIDR").Replace(found[at])
		}
	}
	s.Run("kubectl", "delete", "service", "plain", "local")
	s.Await("nothing is left of them", time.Minute, func() bool { return len(onSupervisor(s, "virtualmachineservices")) == 0 })
	found["Services after their deletion"] = "gone"

	power := func(worker, state string) bool {
		s.Run("kubectl", "--context", "supervisor", "patch", "virtualmachine", worker, "--type=merge", "-p", `{"spec":{"powerState":"`+state+`"}}`)
		s.Await(worker+" is "+state, time.Minute, func() bool {
			return strings.Contains(s.Run("kubectl", "--context", "supervisor", "get", "virtualmachine", worker), state)
		})
		deadline := time.Now().Add(30 * time.Second)
		for time.Now().Before(deadline) {
			if strings.Contains(strings.Join(s.Node(worker).Taints, " "), "shutdown") {
				return true
			}
			time.Sleep(time.Second)
		}
		return false
	}
	found["Node worker-c-1 off taint"] = fmt.Sprint(power("worker-c-1", "PoweredOff"))
	found["Node worker-b-1 suspended taint"] = fmt.Sprint(power("worker-b-1", "Suspended"))
	s.Run("kubectl", "--context", "supervisor", "delete", "virtualmachine", "worker-a-1")
	s.Await("the Node of a deleted VM is deleted", 2*time.Minute, func() bool { return !s.Node("worker-a-1").Registered })
	found["Node worker-a-1 after its VM"] = "deleted"
	s.Await("its route is deleted", time.Minute, has(3))
	found["routes of worker-a-1 after its Node"] = "deleted"
	return found
}

const parityServices = `
apiVersion: v1
kind: Service
metadata: {name: plain, namespace: default}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{name: http, port: 80, nodePort: 30080, protocol: TCP}]
---
apiVersion: v1
kind: Service
metadata: {name: local, namespace: default}
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  healthCheckNodePort: 31080
  sessionAffinity: ClientIP
  loadBalancerSourceRanges: ["192.0.2.0/24"]
  selector: {app: web}
  ports: [{name: http, port: 80, nodePort: 30081, protocol: TCP}, {name: dns, port: 53, nodePort: 30053, protocol: UDP}]
`

// node records what a provider set on a Node.
func (f facts) node(n corev1.Node) {
	at := "Node " + n.Name + " "
	f[at+"providerID"] = n.Spec.ProviderID
	for _, label := range []string{
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelInstanceTypeStable, corev1.LabelFailureDomainBetaZone,
	} {
		f[at+label] = n.Labels[label]
	}
	for _, a := range n.Status.Addresses {
		f[at+"address "+string(a.Type)] = a.Address
	}
	var taints []string
	for _, taint := range n.Spec.Taints {
		taints = append(taints, taint.Key)
	}
	f[at+"taints"] = strings.Join(taints, ",")
}

func (f facts) services(s *program.Sandbox, when string) {
	for _, o := range onSupervisor(s, "virtualmachineservices") {
		o.SetName(o.GetName() + " " + when)
		f.object(o)
	}
}

// object records all that the provider wrote, without what the API server adds.
func (f facts) object(o unstructured.Unstructured) {
	at := o.GetKind() + " " + o.GetName() + " "
	f[at+"labels"], f[at+"annotations"], f[at+"spec"] = text(o.GetLabels()), text(o.GetAnnotations()), text(o.Object["spec"])
	for i, owner := range o.GetOwnerReferences() {
		f[fmt.Sprintf("%sowner %d", at, i)] = owner.APIVersion + " " + owner.Kind + " " + owner.Name
	}
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func onSupervisor(s *program.Sandbox, resource string) []unstructured.Unstructured {
	return program.Kubectl[struct {
		Items []unstructured.Unstructured `json:"items"`
	}](s, "--context", "supervisor", "get", resource).Items
}
