package kind

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// bootBound is how long a boot of six nodes may take on two processors, which nothing else keeps busy: three may take 90 s.
const bootBound = 3 * time.Minute

// The zones of two vCenters on nodes that are containers, with our cloud controller manager and CSI driver as pods; and what
// is done to a VM is done to its container.
func TestZones(t *testing.T) {
	h := newHome(t)
	begin := time.Now()
	s := h.up("zones", "zones-us-eu")
	if d := took(t, "zones-us-eu is up, six nodes", begin); d > bootBound {
		t.Errorf("it took %s, more than %s", d.Round(time.Second), bootBound)
	}
	s.bootSteps()
	t.Run("nodes", func(t *testing.T) { within(t, s).checkNodes("zones-us-eu") })
	t.Run("pods", func(t *testing.T) { within(t, s).checkPods() })
	t.Run("kubelets", func(t *testing.T) { within(t, s).checkKubelets() })
	t.Run("volume", func(t *testing.T) { within(t, s).checkVolume() })
	t.Run("power", func(t *testing.T) { within(t, s).checkPower() })
	t.Run("removed by hand", func(t *testing.T) { within(t, s).checkRemoved() })
	begin = time.Now()
	s.Run("down")
	took(t, "it is down", begin)
	h.nothingLeft()
}

// within is the sandbox of a test, for a test in it.
func within(t *testing.T, s *sandbox) *sandbox {
	t.Helper()
	h := *s.Home
	h.T = t
	own := &sandbox{&home{&h, s.before}, h.Attach(s.Name)}
	t.Cleanup(func() { // while there is something to look at
		if t.Failed() {
			t.Log(own.world())
		}
	})
	return own
}

// checkNodes compares nodes with their VMs: zone by nearest tag, providerID and system UUID of the VM, addresses as the
// guest reports them.
func (s *sandbox) checkNodes(scenario string) {
	s.T.Helper()
	top, err := scenarios.Load(scenario)
	if err != nil {
		s.T.Fatal(err)
	}
	nodes := map[string]corev1.Node{}
	for _, n := range program.Kubectl[corev1.NodeList](s.Sandbox, "get", "nodes").Items {
		if _, spare := n.Labels[cluster.NoVM]; !spare { // a control plane for a topology without one
			nodes[n.Name] = n
		}
	}
	if len(nodes) != len(top.Nodes()) {
		s.T.Errorf("%d nodes, want %d", len(nodes), len(top.Nodes()))
	}
	vms := s.vms()
	for _, ref := range top.Nodes() {
		n, ok := nodes[ref.VM.Hostname]
		if !ok {
			s.T.Errorf("node %s: not there", ref.VM.Hostname)
			continue
		}
		place, uuid := top.Place(ref), strings.ToLower(ref.VM.UUID)
		for what, pair := range map[string][2]string{
			"region":      {n.Labels[corev1.LabelTopologyRegion], place.Region},
			"zone":        {n.Labels[corev1.LabelTopologyZone], place.Zone},
			"providerID":  {n.Spec.ProviderID, "vsphere://" + uuid},
			"system UUID": {strings.ToLower(n.Status.NodeInfo.SystemUUID), uuid},
		} {
			if pair[0] != pair[1] {
				s.T.Errorf("node %s: %s is %q, want %q", n.Name, what, pair[0], pair[1])
			}
		}
		if _, ok := n.Labels["node-role.kubernetes.io/control-plane"]; ok != (ref.VM.Role == topology.RoleControlPlane) {
			s.T.Errorf("node %s: control-plane label present is %t, role %s", n.Name, ok, ref.VM.Role)
		}
		vm, known := vms[ref.VM.Name]
		if !known || len(n.Status.Addresses) == 0 {
			s.T.Errorf("node %s: addresses %v, VM %+v", n.Name, n.Status.Addresses, vm)
		}
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP && !slices.Contains(vm.Addresses, a.Address) {
				s.T.Errorf("node %s: address %s is none of the guest's, %v", n.Name, a.Address, vm.Addresses)
			}
		}
	}
	if bad := s.unwell(); bad != "" {
		s.T.Error(bad)
	}
}

// checkPods wants the cloud controller manager and the CSI driver to run as pods, with their own rights.
func (s *sandbox) checkPods() {
	s.T.Helper()
	var ccm, controller int
	drivers := map[string]bool{}
	for _, p := range program.Kubectl[corev1.PodList](s.Sandbox, "get", "pods", "-A").Items {
		name := p.Namespace + "/" + p.Name
		if p.Status.Phase != corev1.PodRunning && p.Status.Phase != corev1.PodSucceeded {
			s.T.Errorf("pod %s is %s", name, p.Status.Phase)
		}
		switch images := imagesOf(p); {
		case strings.Contains(images, "vsphere-cloud-controller-manager"):
			ccm++
		case strings.Contains(images, "vsphere-csi") && owner(p) == "DaemonSet":
			drivers[p.Spec.NodeName] = true
		case strings.Contains(images, "vsphere-csi"):
			controller++
		default:
			continue
		}
		if p.Spec.ServiceAccountName == "" || p.Spec.ServiceAccountName == "default" {
			s.T.Errorf("pod %s has ServiceAccount %q", name, p.Spec.ServiceAccountName)
		}
	}
	if ccm == 0 || controller == 0 || len(drivers) != len(s.Nodes()) {
		s.T.Errorf("%d pods of the cloud controller manager, %d of the CSI controller, CSI drivers on %d of %d nodes", ccm, controller, len(drivers), len(s.Nodes()))
	}
	states := map[string]string{}
	for _, c := range s.Status().Components {
		states[c.Name] = c.State
	}
	for _, name := range []string{"ccm", "csi-controller"} {
		if states[name] != "running" {
			s.T.Errorf("component %s is %q of %v", name, states[name], states)
		}
	}
}

func imagesOf(p corev1.Pod) string {
	var all []string
	for _, c := range p.Spec.Containers {
		all = append(all, c.Image)
	}
	return strings.Join(all, " ")
}

func owner(p corev1.Pod) string {
	if len(p.OwnerReferences) == 0 {
		return ""
	}
	return p.OwnerReferences[0].Kind
}

// checkKubelets wants every kubelet to be reached at the address that its node has: by the API server, for logs.
func (s *sandbox) checkKubelets() {
	s.T.Helper()
	asked := map[string]bool{}
	for _, p := range program.Kubectl[corev1.PodList](s.Sandbox, "get", "pods", "-n", "kube-system").Items {
		if asked[p.Spec.NodeName] || p.Status.Phase != corev1.PodRunning {
			continue
		}
		asked[p.Spec.NodeName] = true
		r := s.Within(30*time.Second, "--name", s.Name, "kubectl", "logs", "-n", p.Namespace, p.Name, "--all-containers", "--tail=1")
		if r.Code != 0 {
			s.T.Errorf("logs of %s on %s: %s", p.Name, p.Spec.NodeName, r.Both())
		}
	}
	if len(asked) != len(s.Nodes()) {
		s.T.Errorf("asked %d kubelets of %d", len(asked), len(s.Nodes()))
	}
}

// checkPower turns a VM off and on: its container ends and runs again, its node is tainted and well again.
func (s *sandbox) checkPower() {
	s.T.Helper()
	const node = "worker-west-1"
	container, vm := s.container(node), s.Node(node).VM
	running := func() string {
		out, err := docker("inspect", "--format", "{{.State.Status}}", container)
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(out)
	}
	is := func(want string) func() string {
		return func() string {
			if got := running(); got != want {
				return container + " is " + got
			}
			return ""
		}
	}
	s.Run("vm", "power-off", vm)
	s.await("its container has ended", 30*time.Second, is("exited"))
	s.await("the node is not ready, and known to be shut down", 2*time.Minute, func() string { return s.shutDown(node) })
	s.Run("vm", "power-on", vm)
	s.await("its container runs", time.Minute, is("running"))
	s.await("all nodes are well", 2*time.Minute, s.unwell)
	s.Run("vm", "suspend", vm)
	s.await("its container stands still", 30*time.Second, is("paused"))
	s.Run("vm", "power-on", vm)
	s.await("its container goes on", 30*time.Second, is("running"))
	s.await("all nodes are well again", 2*time.Minute, s.unwell)
}

// shutDown returns why a node is not known to be shut down, or "".
func (s *sandbox) shutDown(node string) string {
	s.T.Helper()
	n := s.Node(node)
	if n.Ready == "True" || !strings.Contains(strings.Join(n.Taints, " "), "node.cloudprovider.kubernetes.io/shutdown") {
		return "ready " + n.Ready + ", taints " + strings.Join(n.Taints, " ")
	}
	return ""
}

// checkRemoved removes a node's container without the sandbox: that is noticed and reported, the others continue, and the
// sandbox still ends without leaving anything.
func (s *sandbox) checkRemoved() {
	s.T.Helper()
	const node = "worker-eu-2"
	container, before := s.container(node), s.Last()
	if _, err := docker("rm", "--force", "--volumes", container); err != nil {
		s.T.Fatal(err)
	}
	s.await("it is told that somebody has removed the container", time.Minute, func() string {
		for _, e := range s.Since(before, "") {
			if e.Object.Name == node && (strings.Contains(e.Message, "removed") || strings.Contains(e.Message, "no such container") || strings.Contains(e.Message, "gone")) {
				return ""
			}
		}
		return "no event says so"
	})
	s.await("its node is not ready", 2*time.Minute, func() string {
		if s.Node(node).Ready == "True" {
			return "ready"
		}
		return ""
	})
	for _, n := range s.Nodes() {
		if n.Name != node && n.Ready != "True" {
			s.T.Errorf("node %s: ready %s", n.Name, n.Ready)
		}
	}
}
