package topology_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

const parametrized = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: p, description: "$${x} $$${ ${site}${site} $ {"}
parameters:
  - {name: site, description: where}
  - {name: workers, default: 2}
  - {name: ha, default: false, allowed: [true, no]}
  - {name: memory, type: size, default: 2048Mi, allowed: [2Gi, 4Gi]}
  - {name: number, type: string, default: 7}
spec:
  seed: ${number}
  vcenters:
    - name: ${site}
      reactions: {ha: {enabled: "${ha}"}}
      datacenters:
        - name: dc-${site}
          hosts: [{name: esx-1}]
          vms:
            - name: w-${site}-{n}
              replicas: ${workers}
              memory: ${memory}
`

func TestParameters(t *testing.T) {
	type want struct {
		Description, Seed, VCenter, Datacenter string
		HA                                     topology.Choice
		VMs                                    []string
		Memory                                 topology.Bytes
	}
	tests := map[string]struct {
		settings []topology.Setting
		want     want
	}{
		"defaults": {
			[]topology.Setting{{Name: "site", Value: "west"}},
			want{"${x} $${ westwest $ {", "7", "west", "dc-west", topology.No, []string{"w-west-1", "w-west-2"}, 2 * topology.Gi},
		},
		"all set": {
			[]topology.Setting{{Name: "site", Value: "x"}, {Name: "site", Value: "eu"}, {Name: "workers", Value: "1"}, {Name: "ha", Value: "Yes"}, {Name: "memory", Value: "4096Mi"}, {Name: "number", Value: "${site}"}},
			want{"${x} $${ eueu $ {", "${site}", "eu", "dc-eu", topology.Yes, []string{"w-eu-1"}, 4 * topology.Gi},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			top, err := topology.Load("p.yaml", []byte(parametrized), test.settings...)
			if err != nil {
				t.Fatal(err)
			}
			vc := top.Spec.VCenters[0]
			got := want{
				Description: top.Metadata.Description, Seed: top.Spec.Seed, VCenter: vc.Name, Datacenter: vc.Datacenters[0].Name,
				HA: vc.Reactions.HA.Enabled, Memory: vc.Datacenters[0].VMs[0].Memory,
			}
			for _, vm := range vc.Datacenters[0].VMs {
				got.VMs = append(got.VMs, vm.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			text, err := topology.Marshal(top)
			if err != nil {
				t.Fatal(err)
			}
			again, err := topology.Load("again.yaml", text)
			if diff := cmp.Diff(top, again); err != nil || diff != "" {
				t.Errorf("round trip: %v\n%s", err, diff)
			}
		})
	}
}

func TestParametersRefused(t *testing.T) {
	site := topology.Setting{Name: "site", Value: "west"}
	head, rest, _ := strings.Cut(parametrized, "parameters:\n")
	_, body, _ := strings.Cut(rest, "spec:\n")
	with := func(parameters string) string { return head + "parameters:\n" + parameters + "spec:\n" + body }
	tests := map[string]struct {
		file     string
		settings []topology.Setting
		want     []string
	}{
		"not set": {parametrized, nil, []string{`p.yaml:5:5: parameters[0]: parameter "site" has no default and was not set (--set site=VALUE)`}},
		"no such": {parametrized, []topology.Setting{site, {Name: "worker", Value: "1"}}, []string{
			`p.yaml:5:3: parameters: there is no parameter "worker", which was set (did you mean "workers"?)`,
		}},
		"none at all": {composed("[]", "{vcenters: [{name: v, datacenters: [{name: d, hosts: [{name: e}]}]}]}"), []topology.Setting{site}, []string{
			`p.yaml:1:1: parameters: there is no parameter "site", which was set: this topology has none`,
		}},
		"set to what it cannot be": {parametrized, []topology.Setting{
			{Name: "site", Value: strings.Repeat("x", 2000)}, {Name: "workers", Value: "two"}, {Name: "ha", Value: "maybe"}, {Name: "memory", Value: "3Gi"},
		}, []string{
			`p.yaml:5:5: parameters[0]: parameter "site", as it was set, must be at most 1024 bytes long`,
			`p.yaml:6:5: parameters[1]: parameter "workers", as it was set, must be a whole number, not "two"`,
			`p.yaml:7:5: parameters[2]: parameter "ha", as it was set, must be yes or no, not "maybe"`,
			`p.yaml:8:5: parameters[3]: parameter "memory", as it was set, must be one of "2Gi" or "4Gi", not "3Gi"`,
		}},
		"badly declared": {with(`  - {name: site, type: text}
  - {name: 1st, default: [], allowed: x}
`), nil, []string{
			`p.yaml:5:24: parameters[0].type: must be one of "string" or "int" or "bool" or "size", not "text"`,
			"p.yaml:6:26: parameters[1].default: must be a single value, not a list",
			"p.yaml:6:39: parameters[1].allowed: must be a list",
		}},
		"declared to no use": {with(`  - {name: 1st, default: x}
  - {default: x}
  - {name: site, type: int, default: x}
  - {name: site, default: 3, allowed: [1, b]}
`), nil, []string{
			`p.yaml:5:12: parameters[0].name: must begin with a letter and have letters`,
			"p.yaml:6:5: parameters[1].name: is required",
			`p.yaml:7:38: parameters[2].default: must be a whole number, not "x"`,
			`p.yaml:8:12: parameters[3].name: parameter "site" is already there, on line 7`,
			`p.yaml:8:27: parameters[3].default: must be one of`,
			`p.yaml:8:43: parameters[3].allowed[1]: must be a whole number, not "b"`,
		}},
		"used but not there": {with("  - {name: sites, default: x}\n  - {name: workers, default: \"2\"}\n"), nil, []string{
			`p.yaml:3:34: metadata.description: there is no parameter "site" ($${ stands for ${) (did you mean "sites"?)`,
			`p.yaml:8:9: spec.seed: there is no parameter "number"`,
			`p.yaml:10:13: spec.vcenters[0].name: there is no parameter "site"`,
			`p.yaml:11:33: spec.vcenters[0].reactions.ha.enabled: there is no parameter "ha"`,
			`p.yaml:13:17: spec.vcenters[0].datacenters[0].name: there is`,
			`p.yaml:16:21: spec.vcenters[0].datacenters[0].vms[0].name: there is`,
			`p.yaml:18:23: spec.vcenters[0].datacenters[0].vms[0].memory: there is`,
		}},
		"not closed": {strings.Replace(parametrized, "dc-${site}", "dc-${site", 1), []topology.Setting{site}, []string{
			"p.yaml:16:17: spec.vcenters[0].datacenters[0].name: has ${ without a } after it",
		}},
		"unquoted in braces": {strings.Replace(parametrized, `"${ha}"`, `${ha}`, 1), []topology.Setting{site}, []string{
			"p.yaml:14:33: is not YAML: did not find expected ',' or '}' (inside {…} and […], a parameter needs quotes: \"${ha}\")",
		}},
		"of another type": {strings.Replace(parametrized, `replicas: ${workers}`, `replicas: ${number}`, 1), []topology.Setting{site}, []string{
			`p.yaml:20:25: spec.vcenters[0].datacenters[0].vms[0].replicas: must be a whole number, not the text "7"`,
		}},
		"too much": {with("  - {name: big}\n") + "          folder: " + strings.Repeat("${big}", 10_000) + "\n", []topology.Setting{{Name: "big", Value: strings.Repeat("x", 1024)}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := topology.Load("p.yaml", []byte(test.file), test.settings...)
			if test.want == nil {
				if err == nil || !strings.Contains(err.Error(), "makes the topology larger than 8 MiB with its parameters") {
					t.Error(err)
				}
				return
			}
			wantErrors(t, err, test.want)
		})
	}
}

// Parameters of included files are the topology's, and the including file may say more of them.
func TestParametersIncluded(t *testing.T) {
	all := files(map[string]string{
		"main.yaml": composed("[a.yaml]", "{seed: \"${seed}\"}") + "parameters: [{name: vc, default: mine}]\n",
		"a.yaml": "parameters: [{name: vc, allowed: [mine, other]}, {name: seed, default: s}]\n" +
			strings.Replace(inventory, "name: vc", "name: ${vc}", 1),
	})
	top, err := topology.LoadFS(all, "main.yaml")
	if err != nil || top.Spec.VCenters[0].Name != "mine" || top.Spec.Seed != "s" {
		t.Errorf("%+v, %v", top, err)
	}
	_, err = topology.LoadFS(all, "main.yaml", topology.Setting{Name: "vc", Value: "third"})
	wantErrors(t, err, []string{`main.yaml:6:14: parameters[0]: parameter "vc", as it was set, must be one of "mine" or "other", not "third"`})
}

func TestParseSetting(t *testing.T) {
	for text, want := range map[string]topology.Setting{
		"a=b": {Name: "a", Value: "b"}, "a=": {Name: "a"}, "a=b=c": {Name: "a", Value: "b=c"},
	} {
		if got, err := topology.ParseSetting(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a", "=b"} {
		if _, err := topology.ParseSetting(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
