package lab_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

const topologyText = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: lab}
spec:
  vcenters:
  - name: us
    datacenters:
    - name: west
      region: us-west
      clusters: [{name: w1, zone: us-west-1, hosts: [{name: "w1-{n}", replicas: 2}]}]
      vms: [{name: "us-{n}", replicas: 3, role: worker}]
  - name: eu
    datacenters:
    - name: north
      region: eu-north
      clusters: [{name: n1, zone: eu-north-1, hosts: [{name: "n1-{n}", replicas: 2}]}]
      vms: [{name: "eu-{n}", replicas: 3, role: worker}]
`

// TestLab goes through everything that a lab has, with our CCM in it.
func TestLab(t *testing.T) {
	l := lab.Start(t, lab.Options{Topology: topologyText, Audit: true})
	l.Kubelets.Register(l.Machines()...)
	fast := []string{"--node-monitor-period=500ms"}
	mark := l.Mark()
	ccm := l.StartCCM(lab.CCMOptions{Args: fast})
	t.Logf("initialized in %s", l.Await("every node is initialized", time.Minute, l.Initialized))

	want := lab.Snapshot{
		Name: "eu-1", ProviderID: "vsphere://" + l.Machine("eu-1").UUID, Type: "vsphere-vm.cpu-2.mem-4gb.os-ubuntu",
	}
	got := l.Nodes.Now().Snapshots()[0]
	if zone := got.Labels["topology.kubernetes.io/zone"]; zone != "eu-north-1" {
		t.Errorf("eu-1 is in zone %q", zone)
	}
	if len(got.Addresses) == 0 || got.Addresses[0] != "Hostname eu-1" {
		t.Errorf("eu-1 has addresses %q", got.Addresses)
	}
	got.Labels, got.Addresses = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("eu-1 (-want +got):\n%s", diff)
	}
	if n := lab.Total(mark.Calls(lab.By(provider.UserAgent))); n == 0 {
		t.Error("the CCM called no vCenter")
	}

	off, gone := l.Machine("us-1"), l.Machine("eu-2")
	began := time.Now()
	if err := off.PowerOff(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := gone.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Kubelets.Fail(t.Context(), off.Name, gone.Name); err != nil {
		t.Fatal(err)
	}
	l.Await("one node is tainted and one is gone", time.Minute, func(nodes lab.NodeSet) string {
		if nodes[gone.Name] != nil {
			return gone.Name + " is still there"
		}
		return nodes.Lacks(off.Name, lab.ShutdownTaint)
	})
	for name, is := range map[string]func(lab.NodeChange) bool{off.Name: lab.Tainted(lab.ShutdownTaint), gone.Name: lab.Deleted} {
		at, ok := l.Nodes.First(name, began, is)
		if !ok {
			t.Errorf("the history does not have what happened to %s", name)
		}
		t.Logf("%s: after %s", name, at.Sub(began).Round(time.Millisecond))
	}

	if err := ccm.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := off.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Await("the taint goes with the power back on", time.Minute, func(nodes lab.NodeSet) string {
		return nodes.Has(off.Name, lab.ShutdownTaint)
	})
	if now, peak, err := ccm.Memory(); err != nil || now == 0 || peak < now {
		t.Errorf("memory %d, peak %d, %v", now, peak, err)
	}
	for _, c := range mark.Calls(nil) {
		if strings.HasPrefix(c.Client, "lab") {
			t.Errorf("the gate saw the lab: %+v", c)
		}
	}
	if refused := l.Refused(lab.ServiceAccountUser); len(refused) > 0 {
		t.Errorf("the manifest's account was refused: %q", refused)
	}
	if exits := ccm.Exits(); len(exits) > 0 {
		t.Errorf("the CCM ended by itself: %q", exits)
	}
}

// TestThousand: a lab has room for a thousand nodes, whose kubelets keep them ready.
func TestThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand nodes take minutes; left out by -short, make ground runs it")
	}
	text := strings.ReplaceAll(topologyText, "replicas: 3", "replicas: 500")
	began := time.Now()
	l := lab.Start(t, lab.Options{Topology: text})
	t.Logf("started in %s", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	l.Kubelets.Register(l.Machines()...)
	t.Logf("registered in %s", time.Since(began).Round(time.Millisecond))
	l.StartCCM(lab.CCMOptions{Args: []string{"--concurrent-node-syncs=16", "--kube-api-qps=2000", "--kube-api-burst=4000"}})
	t.Logf("initialized in %s", l.Await("every node is initialized", 5*time.Minute, l.Initialized).Round(time.Millisecond))
	failed := l.Nodes.Since(began)
	failed = slices.DeleteFunc(failed, func(c lab.NodeChange) bool { return !lab.NotReady(c) })
	if len(failed) > 0 {
		t.Errorf("%d nodes were not ready for a time, first %s", len(failed), failed[0].Node.Name)
	}
}
