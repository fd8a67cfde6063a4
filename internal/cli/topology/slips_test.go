package topology

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// slips are the mistakes that people make most often in a topology, in the VMs, the datacenter or the whole file. The messages are
// one golden file, to be read aloud.
func slips() []struct{ title, vms, datacenter, file string } {
	return []struct{ title, vms, datacenter, file string }{
		{title: "power: no means off", vms: "{name: w-1, role: worker, power: no}"},
		{title: "yes and no are written on and off", vms: "{name: w-1, role: worker, tools: on, power: true}"},
		{title: "a size in G or GB", vms: "{name: w-1, role: worker, memory: 8GB}\n            - {name: w-2, memory: 8G}\n            - {name: w-3, memory: 8192}"},
		{title: "an inventory path for a folder", vms: "{name: w-1, role: worker, folder: /dc/vm/k8s}"},
		{title: "{n} without quotes in braces", vms: "{name: w-{n}, replicas: 2, role: worker}"},
		{title: "a parameter without quotes in braces", vms: "{name: w, replicas: ${workers}, role: worker}"},
		{title: "{n} without replicas", vms: `{name: "w-{n}", role: worker}`},
		{title: "replicas that are no number", vms: `{name: "w-{n}", replicas: two, role: worker}`},
		{title: "no space after a colon", vms: "name: w-1\n              role:worker"},
		{title: "a role by another name", vms: "{name: cp-1, role: master}"},
		{title: "names that are not there", vms: "{name: w-1, role: worker, cluster: compue, datastore: dc-sd}"},
		{title: "a key of another level", vms: "{name: w-1, role: worker, addresses: [10.0.0.5]}"},
		{title: "VMs in a compute cluster", datacenter: "clusters: [{name: c, hosts: [{name: esx-1}], vms: [{name: w-1}]}]"},
		{title: "British spelling", file: "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: mine}\nspec:\n  vcenters:\n    - name: vc\n      datacentres: [{name: dc}]\n"},
		{title: "a mapping for a list", datacenter: "hosts: {name: esx-1}"},
		{title: "a tab", datacenter: "hosts:\n\t- name: esx-1"},
		{title: "no head", file: "vcenters:\n- name: vc\n"},
		{title: "the same name twice", vms: "{name: w-1, role: worker}\n            - {name: w-1, role: worker}"},
		{title: "a ConfigMap", file: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vsphere-cloud-config}\ndata:\n  vsphere.conf: \"\"\n"},
		{title: "a Secret", file: "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {vc.username: a, vc.password: b}\n"},
		{title: "a manifest", file: "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: s}\n"},
		{title: "Helm values", file: "config: {enabled: true, vcenter: 10.0.0.1}\ndaemonset: {image: x}\n"},
		{title: "a cluster.yml", file: "cluster_name: x\ncloud_provider: {name: vsphere}\n"},
		{title: "a csi-vsphere.conf", file: "[Global]\ncluster-id = \"x\"\n[VirtualCenter \"10.0.0.1\"]\nuser = a\n"},
		{title: "a vsphere.conf", file: "global: {user: a}\nvcenter: {vc: {server: 10.0.0.1}}\n"},
		{title: "a scenario", file: "apiVersion: sandbox.vsphere/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nsteps: []\n"},
	}
}

func TestSlips(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, slip := range slips() {
		t.Chdir(t.TempDir())
		text := slip.file
		if text == "" {
			where := slip.datacenter
			if where == "" {
				where = "clusters: [{name: compute, hosts: [{name: esx-1}]}]\n          vms:\n            - " + slip.vms
			}
			text = "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: mine}\nspec:\n  vcenters:\n    - name: vc\n      datacenters:\n        - name: dc\n          " + where + "\n"
		}
		if err := os.WriteFile("mine.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e := clitest.NewEnv(nil)
		r := e.Run(t.Context(), NewCmdTopology(e.Deps), "validate", "mine.yaml")
		if r.Exit != report.Usage {
			t.Errorf("%s: exit status %d", slip.title, r.Exit)
		}
		fmt.Fprintf(&b, "# %s\n", slip.title)
		if err := report.Write(&b, "", r); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	t.Chdir(here)
	clitest.Golden(t, "slips", b.String())
}
