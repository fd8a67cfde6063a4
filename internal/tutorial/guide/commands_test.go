package guide

import "testing"

func TestCommands(t *testing.T) {
	for command, want := range map[string]string{
		`export PATH="$PWD/bin:$PATH"`:                     "sets",
		"alias kubectl='vsphere-sandbox kubectl' govc='x'": "sets",
		"cd /tmp":                                              "sets",
		"NODE=worker-1":                                        "sets",
		"NODE=worker-1 kubectl get nodes":                      "",
		`US=$(echo "$GOVC_URL" | cut -d/ -f3)`:                 "sets",
		"node=$(kubectl get pods -o name)":                     "sets",
		"pid=$(vsphere-sandbox ccm status | awk '{print $1}')": "sets",
		"node=$(x) kubectl get nodes":                          "",
		"vsphere-sandbox up":                                   "boots",
		"vsphere-sandbox up zones-us-eu --speed 1":             "boots",
		"vsphere-sandbox up --detach":                          "",
		"vsphere-sandbox vm power-off worker-west-1":           "",
		"kubectl get nodes -L a,b":                             "reads",
		"kubectl get nodes -o yaml > nodes.yaml":               "",
		"kubectl get nodes -o yaml 2>&1 | head -3":             "reads",
		"kubectl delete node a":                                "",
		"vsphere-sandbox get volumes --no-headers | awk '{p}'": "reads",
		"vsphere-sandbox events --object worker-west-1":        "reads",
		"vsphere-sandbox events export run.jsonl":              "",
		"vsphere-sandbox list":                                 "reads",
		"govc --vcenter us tags.attached.ls -r /dcwest":        "reads",
		"govc --vcenter us tags.attach -c k8s-zone a /dc":      "",
		"govc ls /dcwest/vm":                                   "reads",
		"govc --vcenter eu tags.category.create -t A k8s-zone": "",
		"vsphere-sandbox govc --vcenter us vm.info worker":     "reads",
		"rm run.jsonl":                                         "",
		"kubectl getaway":                                      "",
		"kubectl get pods -o name | xargs kubectl delete":      "",
		"vsphere-sandbox topology graph zones-per-cluster":     "reads",
		"ls":   "reads",
		"lsof": "",
	} {
		got := ""
		switch {
		case sets(command):
			got = "sets"
		case boots(command):
			got = "boots"
		case reads(command):
			got = "reads"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
