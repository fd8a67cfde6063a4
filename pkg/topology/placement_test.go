package topology_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const stretched = header + `    - name: vc
      datacenters:
        - name: dc
          clusters:
            - name: c
              hosts: [{name: "esx-a-{n}", replicas: 2, zone: a}, {name: "esx-b-{n}", replicas: 2, zone: b}]
              hostGroups: [{name: site-a, hosts: ["esx-a-*"]}, {name: site-b, hosts: [esx-b-2, esx-b-1]}]
              vmGroups: [{name: vms-a, vms: ["a-*"]}, {name: vms-b, vms: ["k8s/b-*"]}, {name: empty}]
              rules:
                - {name: a-on-a, vmGroup: vms-a, hostGroup: site-a, type: must-run-on}
                - {name: b-not-on-a, vmGroup: vms-b, hostGroup: site-a, type: must-not-run-on}
                - {name: b-on-b, vmGroup: vms-b, hostGroup: site-b}
          vms: [{name: "a-{n}", replicas: 3}, {name: "b-{n}", replicas: 3, folder: k8s}, {name: free}]
`

// VMs are placed where the rules of their groups allow, and groups are resolved to names.
func TestPlacementObeysRules(t *testing.T) {
	top := load(t, stretched)
	zones := map[string]string{}
	for ref := range top.AllVMs() {
		zones[ref.VM.Name] = top.Place(ref).Zone
	}
	want := map[string]string{"a-1": "a", "a-2": "a", "a-3": "a", "b-1": "b", "b-2": "b", "b-3": "b", "free": zones["free"]}
	if d := cmp.Diff(want, zones); d != "" {
		t.Errorf("zones (-want +got):\n%s", d)
	}
	c := top.Spec.VCenters[0].Datacenters[0].Clusters[0]
	if d := cmp.Diff([]topology.HostGroup{
		{Name: "site-a", Hosts: []string{"esx-a-1", "esx-a-2"}}, {Name: "site-b", Hosts: []string{"esx-b-1", "esx-b-2"}},
	}, c.HostGroups); d != "" {
		t.Errorf("host groups (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]topology.VMGroup{
		{Name: "vms-a", VMs: []string{"a-1", "a-2", "a-3"}}, {Name: "vms-b", VMs: []string{"k8s/b-1", "k8s/b-2", "k8s/b-3"}}, {Name: "empty"},
	}, c.VMGroups); d != "" {
		t.Errorf("VM groups (-want +got):\n%s", d)
	}
	if c.Rules[2].Type != topology.ShouldRunOn {
		t.Errorf("the default type is %q", c.Rules[2].Type)
	}
	// A resolved topology resolves to itself.
	text, err := topology.Marshal(top)
	if err != nil {
		t.Fatal(err)
	}
	again, err := topology.Load("again", text)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(top.Spec.VCenters[0].Datacenters[0], again.Spec.VCenters[0].Datacenters[0]); d != "" {
		t.Errorf("rendered and loaded (-want +got):\n%s", d)
	}
}

// A rule that is only a wish gives way when its hosts lack what the VM needs.
func TestPlacementBreaksAWish(t *testing.T) {
	top := load(t, strings.Replace(strings.Replace(stretched, "type: must-run-on", "type: should-run-on", 1),
		"          vms:", "          datastores: [{name: ds, hosts: [esx-b-1]}]\n          vms:", 1))
	for ref := range top.AllVMs() {
		if ref.VM.Host != "esx-b-1" {
			t.Errorf("%s is on %s, which does not mount its datastore", ref.VM.Name, ref.VM.Host)
		}
	}
}

func TestPlacementMistakes(t *testing.T) {
	for name, c := range map[string]struct{ old, text, want string }{
		"no such host":         {`"esx-a-*"]`, `esx-a-3]`, `host "esx-a-3" not found in compute cluster "c"`},
		"a pattern of nothing": {`"esx-a-*"]`, `"esx-z-*"]`, `host "esx-z-*" not found in compute cluster "c"`},
		"no such VM":           {`["a-*"]`, `[a-9]`, `VM "a-9" not found in compute cluster "c"`},
		"no such group":        {`vmGroup: vms-a`, `vmGroup: vms-x`, `VM group "vms-x" not found in compute cluster "c"`},
		"host for VM group":    {`hostGroup: site-b`, `hostGroup: vms-b`, `host group "vms-b" not found in compute cluster "c"`},
		"one name twice":       {`name: empty`, `name: site-a`, `group "site-a" is already there`},
		"one rule twice":       {`name: b-on-b`, `name: a-on-a`, `rule "a-on-a" is already there`},
		"no type":              {`must-not-run-on`, `must-not-run`, `must-not-run-on`},
		"against a rule":       {`{name: "a-{n}", replicas: 3}`, `{name: "a-{n}", replicas: 3, host: esx-b-1}`, `"esx-b-1" is not one that rule "a-on-a" (must-run-on host group "site-a") allows`},
		"nowhere": {
			`b-not-on-a, vmGroup: vms-b, hostGroup: site-a, type: must-not-run-on`, `b-not-on-a, vmGroup: vms-a, hostGroup: site-a, type: must-not-run-on`,
			`no host there is one that rule`,
		},
		"no hosts": {`hosts: [esx-b-2, esx-b-1]`, `hosts: []`, `needs at least one host`},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(stretched, c.old) {
				t.Fatalf("the topology has no %q", c.old)
			}
			_, err := topology.Load("t.yaml", []byte(strings.Replace(stretched, c.old, c.text, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
