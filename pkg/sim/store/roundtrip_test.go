package store_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
)

// rich is a vCenter with something of everything that is saved.
const rich = `
spec:
	tagCategories:
	- {name: class, cardinality: multiple, types: [Datastore, VirtualMachine]}
	vcenters:
	- name: west
	  users:
	  - {name: cpi@vsphere.local, password: secret, groups: [readers@vsphere.local]}
	  - {name: jdoe@corp.example, password: secret}
	  roles:
	  - {name: Operator, privileges: [VirtualMachine.Interact.PowerOn, VirtualMachine.Interact.PowerOff]}
	  policies:
	  - {name: gold, description: fast, tags: [{category: class, name: fast}]}
	  datacenters:
	  - name: dc1
	    folder: americas/west
	    region: r1
	    permissions:
	    - {group: readers@vsphere.local, role: ReadOnly}
	    - {user: jdoe@corp.example, role: Operator, propagate: "no"}
	    networks: [{name: VM Network, cidr: 10.20.0.0/24}]
	    switches:
	    - name: dvs
	      portGroups: [{name: pg, vlan: 7, cidr: 10.21.0.0/24}]
	    datastores:
	    - {name: ds1, capacity: 500Gi, used: 100Gi, tags: [{category: class, name: fast}]}
	    - {name: nfs, type: nfs, capacity: 100Gi}
	    - {name: vs, type: vsan}
	    - {name: vv, type: vvol}
	    clusters:
	    - name: c1
	      zone: a
	      pools: [{name: web}]
	      vapps: [{name: app}]
	      hosts: [{name: esx-1.corp.example}, {name: esx-2.corp.example}]
	    hosts: [{name: lone.corp.example}]
	    folders: [{path: prod/web}]
	    vms:
	    - {name: web-1, cluster: c1, pool: web, folder: prod/web, datastore: ds1, hostname: web-1.corp.example, nics: [{network: VM Network, addresses: [10.20.0.9/24, "2001:db8:20::9/64"]}, {network: pg}], snapshots: [{name: before}, {name: after}]}
	    - {name: off-1, cluster: c1, datastore: nfs, power: "off", nics: [{network: VM Network}], guestInfo: "yes"}
	    - {name: tpl, cluster: c1, template: "yes"}
	    - {name: on-vsan, cluster: c1, datastore: vs}
	    - {name: lonely, host: lone.corp.example, nics: [{network: pg}]}
`

// files reads a folder, with times made equal.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	times := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[0-9.]*(Z|[+-]\d\d:\d\d)`)
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = times.ReplaceAllString(string(b), "TIME")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(all, "sandbox.json") // checksums of times
	return all
}

func TestRoundTrip(t *testing.T) {
	race.SkipSlow(t)
	v := build(t, rich)
	first, s := v.save(t, store.Options{Name: "west"})
	if s.Tags != 3 || s.Policies == 0 || s.Permissions == 0 {
		t.Errorf("saved %+v", s)
	}
	w, saved := load(t, first)
	if notes := saved.Notes(); len(notes) > 0 {
		t.Errorf("left out: %q", notes)
	}
	second, _ := w.save(t, store.Options{Name: "west"})
	if d := cmp.Diff(files(t, first), files(t, second)); d != "" {
		t.Error(d)
	}
}
