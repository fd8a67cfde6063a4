package deployed

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// Two vCenters with zones, two control plane nodes, and workers for everything that happens to nodes.
const topologyText = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: deployed}
spec:
  vcenters:
  - name: us
    datacenters:
    - name: west
      region: us-west
      clusters: [{name: w1, zone: us-west-1, hosts: [{name: "w1-{n}", replicas: 2}]}]
      vms:
      - {name: "cp-{n}", replicas: 2, role: control-plane}
      - {name: "us-{n}", replicas: 3, role: worker}
  - name: eu
    datacenters:
    - name: north
      region: eu-north
      clusters: [{name: n1, zone: eu-north-1, hosts: [{name: "n1-{n}", replicas: 2}]}]
      vms: [{name: "eu-{n}", replicas: 3, role: worker}]
`

// configKey is the file of the ConfigMap that the program reads; mountedCA is the authority beside it.
const (
	configKey = "vsphere.conf"
	mountedCA = "/etc/cloud/ca.crt"
)

// world is a cluster with the manifests applied.
type world struct {
	*lab.Lab
	t        *testing.T
	manifest manifest
	binary   string
	// conf is vsphere.conf as the operator wrote it first.
	conf string
}

// deploy registers control plane nodes and applies the manifests, as they are but for the overlay. No pod runs yet.
func deploy(t *testing.T, controlPlanes int, o overlay) *world {
	t.Helper()
	w := &world{Lab: lab.Start(t, lab.Options{Topology: topologyText, Audit: true}), t: t, manifest: readManifest(t)}
	w.binary = w.build()
	w.Kubelets.RegisterAs(asControlPlane, w.machines(topology.RoleControlPlane)[:controlPlanes]...)
	conf, err := w.CloudConfig(sim.CloudConfig{
		CAFile: mountedCA, SecretName: lab.SecretName, SecretNamespace: lab.Namespace,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.conf = string(conf)
	credentials := map[string]string{}
	for _, v := range w.VCenters() {
		u := w.Account(v.Name())
		credentials[v.Host()+".username"], credentials[v.Host()+".password"] = u.Name, u.Password
	}
	w.manifest.configure(t, w.conf, string(w.Simulation.CA()), credentials)
	w.manifest.overlay(t, o)
	w.manifest.apply(t, w.Lab)
	return w
}

// daemonSet is the manifest's.
func (w *world) daemonSet() appsv1.DaemonSet {
	w.t.Helper()
	return all[appsv1.DaemonSet](w.t, w.manifest, "DaemonSet")[0]
}

// machines are the VMs of that role.
func (w *world) machines(role topology.Role) []*lab.Machine {
	return slices.DeleteFunc(w.Machines(), func(m *lab.Machine) bool { return m.VM.Role != role })
}

// asControlPlane makes a Node one that the pods are for, and on which there is room for them.
func asControlPlane(n *corev1.Node) {
	const role = "node-role.kubernetes.io/control-plane"
	n.Labels[role] = ""
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: role, Effect: corev1.TaintEffectNoSchedule})
	n.Status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"),
		corev1.ResourcePods: resource.MustParse("10"),
	}
	n.Status.Allocatable = n.Status.Capacity
}

// build makes the program that is in the image, or takes that of $VSPHERE_CCM_BIN.
func (w *world) build() string {
	w.t.Helper()
	if path := os.Getenv("VSPHERE_CCM_BIN"); path != "" {
		path, err := filepath.Abs(path)
		if err != nil {
			w.t.Fatal(err)
		}
		return path
	}
	root, err := program.Root()
	if err != nil {
		w.t.Fatal(err)
	}
	// The image's entry point is the container's name: the manifest has no command.
	name := w.daemonSet().Spec.Template.Spec.Containers[0].Name
	path := filepath.Join(w.Dir, name)
	build := exec.CommandContext(w.t.Context(), "go", "build", "-o", path, "./cmd/"+name)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		w.t.Fatalf("build: %v\n%s", err, strings.TrimSpace(string(out)))
	}
	return path
}
