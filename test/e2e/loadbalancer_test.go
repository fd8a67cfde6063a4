package e2e

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// nsxSection returns the topology and the commands of the section about NSX in docs/loadbalancer.md, and what `get nsx` prints there.
func nsxSection(t *testing.T) (topology string, commands [][]string, printed string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/loadbalancer.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## NSX\n")
	blocks := regexp.MustCompile("(?s)```(\\w*)\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) < 2 || blocks[0][1] != "yaml" {
		t.Fatal("docs/loadbalancer.md: the section about NSX has no topology")
	}
	topology = blocks[0][2]
	for line := range strings.Lines(blocks[1][2]) {
		if command, ok := strings.CutPrefix(line, "$ vsphere-sandbox "); ok {
			commands = append(commands, strings.Fields(command))
			printed = ""
		} else {
			printed += line
		}
	}
	return topology, commands, printed
}

// typesOf returns the first column of a table, in its order.
func typesOf(table string) (types []string) {
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 0 {
			types = append(types, fields[0])
		}
	}
	return types
}

// With the built-in cloud controller manager, a Service has an address of NSX that answers; Services say what is wrong with a class, and
// with NSX; deleted ones leave nothing. The commands are those of the page.
func TestLoadBalancerNSX(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	topology, commands, printed := nsxSection(t)
	file := h.File("nsx.yaml", `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: nsx}
`+topology+`  vcenters:
    - name: vc
      datacenters:
        - name: dc
          hosts: [{name: esx}]
          vms: [{name: worker-1, role: worker}, {name: worker-2, role: worker}]
`)
	var s *sandbox
	for _, command := range commands {
		switch {
		case command[0] == "up":
			command[1] = file
			h.Must(append(append([]string{"--name", "nsx"}, command...), "--csi", "off")...)
			s = h.attach("nsx")
		case slices.Equal(command[:2], []string{"kubectl", "get"}):
			s.address("web")
		case command[0] == "get":
			if got, want := typesOf(s.Run(command...)), typesOf(printed); !slices.Equal(got, want) {
				t.Errorf("get nsx has %q, the page %q", got, want)
			}
		default:
			s.Run(command...)
		}
	}
	address := s.address("web")
	s.Await("the address answers", time.Minute, func() bool {
		resp, err := http.Get("http://" + address + ":8080/")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return err == nil && resp.StatusCode == http.StatusOK && strings.Contains(string(body), "default/web")
	})
	s.Await("explain says what NSX has", time.Minute, func() bool { return strings.Contains(s.Run("explain", "service", "web"), "objects, all realized") })

	s.Run("kubectl", "apply", "-f", h.File("class.yaml", `apiVersion: v1
kind: Service
metadata: {name: classy, annotations: {loadbalancer.vmware.io/class: publik}}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
`))
	s.says("classy", `"publik", and the configuration has no such class: it has default, public`)
	s.Run("kubectl", "annotate", "--overwrite", "service", "classy", "loadbalancer.vmware.io/class=public")
	if got := s.address("classy"); !strings.HasPrefix(got, "203.0.113.") {
		t.Errorf("of the class public, the address is %s", got)
	}

	s.Run("vcenter", "down", "nsx")
	s.Run("kubectl", "expose", "deployment", "web", "--name", "late", "--port=81", "--target-port=80", "--type=LoadBalancer")
	s.says("late", "check that NSX is up and reachable from here")
	s.Run("vcenter", "up", "nsx")
	if got := s.address("late"); got == address {
		t.Errorf("two Services have the address %s", got)
	}
	s.Run("ccm", "restart")
	s.Run("kubectl", "delete", "service", "web", "classy", "late")
	if left := slices.DeleteFunc(s.nsxObjects(), func(o api.NSXObject) bool { return o.User == "admin" }); len(left) > 0 {
		t.Errorf("deleted Services leave %v", left)
	}
}

// address waits for the address of a Service.
func (s *sandbox) address(service string) (address string) {
	s.T.Helper()
	s.Await(service+" has an address", time.Minute, func() bool {
		if all := program.Kubectl[corev1.Service](s.Sandbox, "get", "service", service).Status.LoadBalancer.Ingress; len(all) > 0 {
			address = all[0].IP
		}
		return address != ""
	})
	return address
}

// says waits for an Event on a Service.
func (s *sandbox) says(service, want string) {
	s.T.Helper()
	s.Await("Event on "+service+": "+want, time.Minute, func() bool {
		return slices.ContainsFunc(program.Kubectl[corev1.EventList](s.Sandbox, "get", "events").Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Name == service && e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, want)
		})
	})
}

func (s *sandbox) nsxObjects() []api.NSXObject {
	s.T.Helper()
	list, err := s.Client.NSX(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	return list
}
