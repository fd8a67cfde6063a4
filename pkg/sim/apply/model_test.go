package apply_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// random writes a topology: one of many that share names, so that two of them have much in common and much not.
func random(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var b strings.Builder
	b.WriteString("\nspec:\n  tagCategories: [{name: team, cardinality: multiple}]\n  vcenters:\n    - name: vc\n")
	roles := r.IntN(2) == 0
	if roles {
		fmt.Fprintf(&b, "      roles: [{name: ops, privileges: [VirtualMachine.Interact.PowerOn%s]}]\n", pick("", ", VirtualMachine.Interact.PowerOff"))
	}
	if r.IntN(2) == 0 {
		fmt.Fprintf(&b, "      folders: [{path: top/%s, tags: [{category: team, name: x}]}]\n", pick("a", "b"))
	}
	b.WriteString("      datacenters:\n")
	for _, dc := range []string{"dc1", "dc2"} {
		if dc == "dc2" && r.IntN(3) == 0 {
			continue
		}
		fmt.Fprintf(&b, "        - name: %s\n", dc)
		if r.IntN(2) == 0 {
			b.WriteString("          folder: top/west\n")
		}
		fmt.Fprintf(&b, "          region: %s\n", pick("r1", "r2"))
		if roles && r.IntN(2) == 0 {
			fmt.Fprintf(&b, "          permissions: [{group: administrators@vsphere.local, role: %s, propagate: %q}]\n", pick("ops", "ReadOnly"), pick("yes", "no"))
		}
		writeDatacenter(&b, r, dc, pick)
	}
	return b.String()
}

func writeDatacenter(b *strings.Builder, r *rand.Rand, dc string, pick func(...string) string) {
	type place struct{ host, pool string }
	var places []place
	b.WriteString("          clusters:\n")
	for c := range 1 + r.IntN(2) {
		cluster := fmt.Sprintf("%s-c%d", dc, c)
		pools := r.IntN(2) == 0
		fmt.Fprintf(b, "            - name: %s\n              zone: %s\n", cluster, pick("z1", "z2"))
		if pools {
			b.WriteString("              pools: [{name: prod, pools: [{name: web}]}]\n")
		}
		b.WriteString("              hosts:\n")
		for h := range 1 + r.IntN(3) {
			host := fmt.Sprintf("%s-e%d", cluster, h)
			fmt.Fprintf(b, "                - {name: %s, cpus: %d, memory: 32Gi}\n", host, 8+h)
			pool := ""
			if pools {
				pool = pick("", "prod", "prod/web")
			}
			places = append(places, place{host, pool})
		}
	}
	if r.IntN(2) == 0 {
		fmt.Fprintf(b, "          hosts: [{name: %s-lone}]\n", dc)
		places = append(places, place{dc + "-lone", ""})
	}
	networks := []string{"VM Network"}
	b.WriteString("          networks:\n            - {name: VM Network, cidr: 10.1.0.0/16}\n")
	if r.IntN(2) == 0 {
		b.WriteString("            - {name: blue}\n")
		networks = append(networks, "blue")
	}
	if r.IntN(2) == 0 {
		fmt.Fprintf(b, "          switches: [{name: %s-dvs, portGroups: [{name: pg, vlan: %d}]}]\n", dc, r.IntN(3))
		networks = append(networks, "pg")
	}
	datastores := []string{dc + "-ds"}
	fmt.Fprintf(b, "          datastores:\n            - {name: %s-ds}\n", dc)
	if r.IntN(2) == 0 {
		fmt.Fprintf(b, "            - {name: %s-nfs, type: nfs, capacity: 200Gi}\n", dc)
		datastores = append(datastores, dc+"-nfs")
	}
	var vms []string
	for n := range 6 {
		if r.IntN(3) == 0 {
			continue
		}
		at := places[r.IntN(len(places))]
		line := fmt.Sprintf("name: %s-w%d, host: %s, datastore: %s, cpus: %d, memory: %dGi", dc, n, at.host, pick(datastores...), 1+r.IntN(4), 1+r.IntN(4))
		if folder := pick("", "f", "f/g"); folder != "" {
			line += ", folder: " + folder
		}
		if n%2 == 0 { // one that keeps its identity wherever it goes
			line += fmt.Sprintf(", uuid: 42000000-0000-4000-8000-0000000%s%04d", map[string]string{"dc1": "1", "dc2": "2"}[dc]+"", n)
		}
		line += ", nics: ["
		for i := range 1 + r.IntN(2) {
			line += fmt.Sprintf("{network: %s, mac: \"00:50:56:0%c:0%d:0%d\"},", pick(networks...), dc[2], n, i+r.IntN(2)*4)
		}
		line += "]"
		kind := r.IntN(6)
		if kind > 0 && at.pool != "" {
			line += ", pool: " + at.pool
		}
		switch kind {
		case 0:
			line += `, template: "yes"`
		case 1:
			line += `, power: "off"`
		default:
			line += fmt.Sprintf(", hostname: %s-w%d%s", dc, n, pick("", ".example"))
			if r.IntN(3) == 0 {
				line += ", role: worker"
			}
			if r.IntN(3) == 0 {
				line += `, guestInfo: "yes"`
			}
		}
		if r.IntN(3) == 0 {
			line += fmt.Sprintf(", extraConfig: [{key: a.b, value: v%d}]", r.IntN(2))
		}
		if r.IntN(3) == 0 {
			line += fmt.Sprintf(", tags: [{category: team, name: t%d}]", r.IntN(3))
		}
		vms = append(vms, "            - {"+line+"}\n")
	}
	if len(vms) > 0 {
		b.WriteString("          vms:\n" + strings.Join(vms, ""))
	}
}

// TestModel: after any change the inventory equals that of a fresh start, and a second plan is empty.
func TestModel(t *testing.T) {
	pairs := 12
	if testing.Short() {
		pairs = 4
	}
	for seed := range pairs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 7))
			a, b := random(r), random(r)
			for _, text := range []string{a, b} {
				if _, err := topology.Load("random", []byte(head+text)); err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
			}
			lab, steps := change(t, a, b)
			alike(t, lab, b)
			if t.Failed() {
				for _, s := range steps {
					t.Log(s)
				}
				t.Logf("from %s\nto %s", a, b)
			}
		})
	}
}
