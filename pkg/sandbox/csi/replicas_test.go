package csi

import (
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Each replica is a controller with its own socket and sidecars that talk to it, and all elect leaders. One replica does not.
func TestReplicas(t *testing.T) {
	d := newDriver(t)
	o := Options{Replicas: 2}.WithDefaults()
	d.Options = o
	if c := d.Config(); !c.LeaderElection || !c.Replicas {
		t.Error("no rights to elect a leader")
	}
	sockets := map[int]string{}
	for replica := range 2 {
		var err error
		if sockets[replica], err = d.socket(replica); err != nil {
			t.Fatal(err)
		}
	}
	if sockets[0] == sockets[1] {
		t.Errorf("one socket: %v", sockets)
	}
	names := map[string]bool{}
	for _, p := range o.processes() {
		names[p.name] = true
		spec := d.spec(p, o, sockets[p.replica], "cluster")
		line := strings.Join(spec.Args, " ")
		for _, want := range []string{
			"--leader-election ", "--leader-election-namespace=vmware-system-csi", "--leader-election-identity=" + p.name + " ",
			"--leader-election-lease-duration=5s", "--leader-election-renew-deadline=3.333s", "--leader-election-retry-period=667ms",
			"--kubeconfig=" + d.dir(p.name+".kubeconfig"),
		} {
			if !strings.Contains(line+" ", want) {
				t.Errorf("%s: no %s in %s", p.name, want, line)
			}
		}
		if p.part == "" && spec.Args[0] != p.program {
			t.Errorf("%s: %s", p.name, line)
		}
		if p.program != "snapshot-controller" && !strings.Contains(line, sockets[p.replica]) {
			t.Errorf("%s: it talks to another controller: %s", p.name, line)
		}
	}
	if len(names) != 12 || !names["csi-controller"] || !names["csi-controller-2"] || !names["snapshot-controller-2"] {
		t.Errorf("%v", names)
	}
	d.update(func() { d.running = o })
	if got := d.AccountOf("csi-attacher-2"); got != "csi-attacher" {
		t.Errorf("account %q", got)
	}
	one := Options{}.WithDefaults()
	for _, p := range one.processes() {
		if line := strings.Join(d.spec(p, one, sockets[0], "cluster").Args, " "); strings.Contains(line, "leader-election") {
			t.Errorf("%s: %s", p.name, line)
		}
	}
}

// The rows of replicas have their own health and say which one leads. A process that ends leads no longer.
func TestLeaders(t *testing.T) {
	d := newDriver(t)
	o := Options{Replicas: 2}.WithDefaults()
	d.update(func() {
		d.running, d.children, d.leads = o, map[string]*child.Child{}, map[string]bool{}
		d.states = []state{{healthy: true}, {reason: "starting"}}
	})
	if got := d.findLeader(t.Context(), "csi-attacher-2_d5b2"); got != "csi-attacher-2" {
		t.Errorf("%q", got)
	}
	if got := d.findLeader(t.Context(), "csi-attacher-3_d5b2"); got != "" {
		t.Errorf("%q", got)
	}
	d.leaderChanged("csi-attacher", "csi-attacher")
	d.leaderChanged("csi-attacher", "csi-attacher-2")
	d.leaderChanged("csi-provisioner", "csi-provisioner")
	rows := func() map[string]api.Component {
		all := map[string]api.Component{}
		for _, p := range o.processes() {
			row := []api.Component{{Name: p.name}}
			d.Describe(row)
			all[p.name] = row[0]
		}
		return all
	}
	got := rows()
	for name, leads := range map[string]bool{"csi-attacher": false, "csi-attacher-2": true, "csi-provisioner": true, "csi-provisioner-2": false} {
		if got[name].Leader != leads {
			t.Errorf("%+v", got[name])
		}
	}
	if got["csi-controller"].Health != healthy || got["csi-controller-2"].Health != "starting" {
		t.Errorf("%+v, %+v", got["csi-controller"], got["csi-controller-2"])
	}
	at := slices.IndexFunc(o.processes(), func(p process) bool { return p.name == "csi-attacher-2" })
	d.childChanged(o.processes()[at], child.Change{State: child.Exited})
	if rows()["csi-attacher-2"].Leader {
		t.Error("a process that has ended leads")
	}
}

// A driver whose ports are fixed does not take the place of several controllers.
func TestSwapOfReplicas(t *testing.T) {
	d := newDriver(t)
	d.Ready = func() error { return nil }
	d.update(func() { d.running, d.children = Options{Replicas: 2}.WithDefaults(), map[string]*child.Child{} })
	_, err := d.exchange(t.Context(), Options{Program: program.Program{Path: "/bin/theirs", Source: "theirs"}}.WithDefaults(), 0)
	if err == nil || !strings.Contains(err.Error(), "theirs cannot take the place of 2 controllers") {
		t.Error(err)
	}
}
