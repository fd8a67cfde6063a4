package migrate

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/cli"
	_ "github.com/vmware/govmomi/cli/permissions" // permissions.set
	_ "github.com/vmware/govmomi/cli/role"        // role.create
	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const office = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: office}
spec:
  vcenters:
    - name: vc
      users: [{name: ccm@vsphere.local}, {name: csi@vsphere.local}]
      folders: [{path: americas, region: us}]
      datacenters:
        - name: dc
          folder: americas
          clusters: [{name: c1, zone: us-west, hosts: [{name: h1}]}]
          datastores: [{name: shared}, {name: backup}]
          vms: [{name: worker, folder: k8s/blue, cluster: c1}, {name: other, cluster: c1}]
        - {name: lonely, hosts: [{name: h2}], vms: [{name: far}]}
`

// at is a vCenter, and what was typed after migrate.
type at struct {
	*testing.T
	lab  *sim.Lab
	conf string
}

func atOffice(t *testing.T) *at {
	lab := sim.Start(t, office)
	return &at{t, lab, lab.CloudConfigFile()}
}

// run runs the command; CONF stands for the configuration.
func (a *at) run(ctx context.Context, args string) (string, report.Record) {
	a.Helper()
	e := clitest.NewEnv(nil)
	r := e.Run(ctx, NewCmdMigrate(e.Deps), append([]string{"roles"}, strings.Fields(strings.ReplaceAll(args, "CONF", a.conf))...)...)
	out := e.Out.String()
	if e.Err.Len() > 0 {
		out += "--- on standard error\n" + e.Err.String()
	}
	if r.Message != "" {
		out += "--- ended with " + r.Code + "\n" + r.Message + "\n"
		if r.Try != "" {
			out += "try: " + r.Try + "\n"
		}
	}
	return out, r
}

const users = " --ccm-user ccm@vsphere.local --csi-user csi@vsphere.local"

func TestRolesOutput(t *testing.T) {
	a := &at{T: t, conf: filepath.Join("..", "..", "migrate", "testdata", "in-tree-workspace.conf")}
	for name, args := range map[string]string{
		"roles.general": "--file-volumes", "roles.govc": "--govc" + users, "roles.json": "-o json", "roles.file": "CONF", "roles.file.govc": "CONF --govc",
	} {
		t.Run(name, func(t *testing.T) {
			got, r := a.run(t.Context(), args)
			if r.Exit != 0 {
				t.Errorf("%+v", r)
			}
			clitest.Golden(t, name, got)
		})
	}
}

// A file that can be converted can be planned for.
func TestRolesOfWhatIsConverted(t *testing.T) {
	defer world(t)()
	for args, exit := range map[string]int{
		"pool.conf": 0, "balancer.conf": 0, "new.conf": 0, "unknown.conf --force": 0, "unknown.conf": report.Usage, "--force": report.Usage,
	} {
		got, r := (&at{T: t}).run(t.Context(), args)
		if r.Exit != exit || exit == 0 && !strings.Contains(got, "vc") || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %+v, %s", args, r, got)
		}
		if args == "unknown.conf" && !strings.Contains(r.Try, "--force") {
			t.Errorf("%s: try %s", args, r.Try)
		}
	}
}

// The objects are those that the file names, in either of its forms.
func TestRolesOfFile(t *testing.T) {
	defer world(t)()
	const login = "[Global]\nuser = u@d\npassword = hunter2\n"
	for text, want := range map[string][]string{
		login + "server = vc\ndatacenter = dc\ndatastore = shared\nworking-dir = k8s\n": {"/dc", "/dc/datastore/shared", "/dc/vm/k8s"},
		login + "[VirtualCenter \"vc\"]\ndatacenters = Datacenter:datacenter-3, dc\n[Workspace]\nserver = VC\ndatacenter = dc\nfolder = f\n": {
			" Datacenter:datacenter-3", "/dc/vm/f",
		},
		login + "datastore = unread\n[VirtualCenter \"vc\"]\ndatacenters = dc\n[Workspace]\nserver = vc\ndatacenter = dc\nfolder = /dc/vm/f\ndefault-datastore = ds\n": {
			"/dc/datastore/ds", "/dc/vm/f",
		},
	} {
		if err := os.WriteFile("f.conf", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, r := (&at{T: t}).run(t.Context(), "f.conf --govc")
		for _, object := range want {
			if r.Exit != 0 || !strings.Contains(got, object+"\n") {
				t.Errorf("%+v, no %s in\n%s", r, object, got)
			}
		}
		if strings.Contains(got, "$DATASTORE") && strings.Contains(text, "datastore =") || strings.Contains(got, "/Datacenter:") {
			t.Error(got)
		}
	}
}

// The commands that it prints create what is missing; then nothing is, and what differs is reported.
func TestRolesOfVCenter(t *testing.T) {
	a := atOffice(t)
	args := "--vcenter-config CONF --folder k8s --datastore shared" + users
	for _, step := range []struct{ name, args string }{
		{"roles.connected", args},
		{"roles.connected.govc", args + " --govc"},
		{"roles.again", args},
		{"roles.again.govc", args + " --govc"},
		{"roles.differs", "--vcenter-config CONF --vm worker --datastore /americas/dc/datastore/backup --csi-user ccm@vsphere.local"},
	} {
		if step.name == "roles.differs" {
			m := object.NewAuthorizationManager(a.lab.Client("vc").Client)
			known, err := m.RoleList(t.Context())
			if err == nil {
				err = m.UpdateRole(t.Context(), known.ByName("CNS-VM").RoleId, "CNS-VM", []string{"VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Config.RemoveDisk"})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		got, r := a.run(t.Context(), step.args)
		if r.Exit != 0 {
			t.Errorf("%s: %+v", step.name, r)
		}
		clitest.Golden(t, step.name, got)
		if step.name == "roles.connected.govc" {
			a.govc(got)
		}
	}
}

// govc runs the commands of a plan.
func (a *at) govc(plan string) {
	a.Helper()
	v, _ := a.lab.VCenter("vc")
	u := v.URL()
	u.User = url.UserPassword(v.User(), v.Password())
	for line := range strings.Lines(plan) {
		args := strings.Fields(line)
		if args[0] == "govc" && cli.Run(slices.Insert(args[1:], 1, "-u", u.String(), "-k", "-persist-session=false")) != 0 {
			a.Fatal(line)
		}
	}
}

// Without a choice it is all datacenters, their folders of VMs and their datastores; programs get the same.
func TestRolesEverywhere(t *testing.T) {
	a := atOffice(t)
	got, r := a.run(t.Context(), "--vcenter-config CONF -o json")
	var v struct {
		Kind     string
		VCenters []struct {
			VCenter string
			Grants  []struct{ Role, Object string }
		}
	}
	if err := json.Unmarshal([]byte(got), &v); err != nil || r.Exit != 0 || v.Kind != "VCenterRoles" || len(v.VCenters) != 1 {
		t.Fatalf("%v, %+v, %s", err, r, got)
	}
	var on []string
	for _, g := range v.VCenters[0].Grants {
		on = append(on, g.Role+" "+g.Object)
	}
	want := []string{
		"ReadOnly /americas/dc", "ReadOnly /lonely", "ReadOnly /americas", "CNS-SEARCH-AND-SPBM /", "ReadOnly /americas/dc", "ReadOnly /lonely",
		"ReadOnly /americas", "CNS-DATASTORE /americas/dc/datastore/backup", "CNS-DATASTORE /americas/dc/datastore/shared",
		"CNS-DATASTORE /lonely/datastore/lonely-ds", "CNS-VM /americas/dc/vm", "CNS-VM /lonely/vm",
	}
	if d := cmp.Diff(want, on); d != "" {
		t.Error(d)
	}
}

func TestRolesRefused(t *testing.T) {
	a := &at{T: t, conf: filepath.Join(t.TempDir(), "conf")}
	if err := os.WriteFile(a.conf, []byte("[Global]\nspeed = fast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"CONF":                      "cannot be used",
		"nosuch":                    "nosuch: no such file or directory",
		"a b":                       `roles: unexpected argument "b"`,
		"CONF --vcenter-config env": "give one of them",
		"--folder k8s":              "--folder is about real vCenters",
		"--datastore x":             "--datastore names one of a vCenter",
		"--govc -o json":            "prints commands, not json",
		"--ccm-user ccm":            "has no domain",
		"--vcenter-config env":      "GOVC_URL: is not set",
		"-o toml":                   `unknown output format "toml"`,
	} {
		if got, r := a.run(t.Context(), args); r.Exit != report.Usage && r.Exit != report.Prerequisite || !strings.Contains(r.Message, want) {
			t.Errorf("%s: %+v, %s", args, r, got)
		}
	}
	real := atOffice(t)
	for args, want := range map[string]string{
		"--vcenter-config CONF --datastore nosuch": `no datacenter with such VMs has a datastore "nosuch"`,
		"--vcenter-config CONF --folder nosuch":    "nosuch",
	} {
		if got, r := real.run(t.Context(), args); r.Exit == 0 || !strings.Contains(r.Message, want) {
			t.Errorf("%s: %+v, %s", args, r, got)
		}
	}
	if got, _ := real.run(t.Context(), "--vcenter-config CONF --vm nosuch-*"); !strings.Contains(got, `has no such VM: nothing is granted on VMs there`) {
		t.Error(got)
	}
}
