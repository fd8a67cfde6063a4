package kind

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// greeter is the image of the program that serves a page.
const greeter = "localhost/vsphere-sandbox-test/greeter:v1"

// servicePair is two workers and an NSX Manager.
const servicePair = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: services}
spec:
  nsx: {}
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          hosts: [{name: esx}]
          vms: [{name: "worker-{n}", replicas: 2, role: worker}]
`

// web is two pods that serve a page.
const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: greeter, image: ` + greeter + `, imagePullPolicy: Never, args: [":80"]}]
`

// An exposed Deployment has an address of this machine's loopback interface, at which its pods answer through the node ports; with
// each of the load balancers, and after a node is gone. Deleted Services leave no listener, and nothing in NSX. In each case the cloud
// controller manager is a pod: it reaches NSX from there, upstream's with its own release's manifest.
func TestLoadBalancer(t *testing.T) {
	for _, tc := range []struct{ name, balancer, ccm string }{
		{"simple", "simple", "builtin"}, {"nsx", "nsx", "builtin"}, {"upstream", "nsx", "module:" + upstreamRelease},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHome(t)
			if tc.ccm != "builtin" {
				if r := h.Within(20*time.Minute, "ccm", "fetch", tc.ccm); r.Code != 0 {
					t.Fatalf("exit status %d\n%s", r.Code, r.Both())
				}
			}
			s := h.up("services-"+tc.name, h.File("services.yaml", servicePair), "--csi", "off", "--loadbalancer", tc.balancer, "--ccm", tc.ccm)
			if logs := s.Run("events", "--since", "1h"); !strings.Contains(logs, "ccm: started, in pod ") {
				t.Errorf("the cloud controller manager is no pod:\n%s", logs)
			}
			s.give(greeter)
			s.Run("kubectl", "apply", "-f", s.File("web.yaml", web))
			s.Run("kubectl", "expose", "deployment", "web", "--port=8080", "--target-port=80", "--type=LoadBalancer")
			first := s.address("web")
			said := map[string]bool{}
			s.await("both pods answer at "+first, 2*time.Minute, func() string {
				text, why := get(first)
				if host, ok := strings.CutPrefix(text, "greetings from web-"); ok {
					said[host] = true
				}
				if len(said) == 2 {
					return ""
				}
				return fmt.Sprintf("of %v: %s", said, why)
			})

			s.Run("kubectl", "expose", "deployment", "web", "--name=other", "--port=8080", "--target-port=80", "--type=LoadBalancer")
			if second := s.address("other"); second == first {
				t.Errorf("two Services have the address %s", first)
			}
			s.Run("vm", "power-off", s.Node("worker-2").VM)
			s.await("pods are asked through the other node", 3*time.Minute, func() string {
				for range 5 {
					if text, why := get(first); !strings.HasPrefix(text, "greetings from web-") {
						return why + text
					}
				}
				return ""
			})
			s.Run("kubectl", "delete", "service", "web", "other")
			s.await("nothing listens at "+first, time.Minute, func() string {
				if text, why := get(first); why == "" {
					return text
				}
				return ""
			})
			if tc.balancer == "nsx" {
				s.await("NSX has none of their objects", time.Minute, func() string {
					list, err := s.Client.NSX(t.Context())
					if err != nil {
						return err.Error()
					}
					for _, o := range list {
						if o.User != "admin" {
							return o.Path
						}
					}
					return ""
				})
			}
			s.Run("down")
			h.nothingLeft()
		})
	}
}

// address waits for the address of a Service, with its port, and checks that it is one of this machine.
func (s *sandbox) address(service string) (address string) {
	s.T.Helper()
	s.await(service+" has an address", time.Minute, func() string {
		o := program.Kubectl[corev1.Service](s.Sandbox, "get", "service", service)
		if all := o.Status.LoadBalancer.Ingress; len(all) > 0 {
			address = net.JoinHostPort(all[0].IP, strconv.Itoa(int(o.Spec.Ports[0].Port)))
			return ""
		}
		return "status is " + o.Status.String()
	})
	if ip, err := netip.ParseAddrPort(address); err != nil || !ip.Addr().IsLoopback() {
		s.T.Fatalf("%s has the address %s, %v: want one of the loopback interface", service, address, err)
	}
	return address
}

// get returns what answers at an address, over a new connection, or why nothing does.
func get(address string) (text, why string) {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + address + "/")
	if err != nil {
		return "", err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err.Error()
	}
	return string(body), ""
}
