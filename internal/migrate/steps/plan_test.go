package steps_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/steps"
)

var update = flag.Bool("update", false, "rewrite golden files")

const old = `[Global]
user = "admin@vsphere.local"
password = "hunter2"
[VirtualCenter "vc.example.net"]
datacenters = dc
[Workspace]
server = vc.example.net
datacenter = dc
folder = k8s
default-datastore = "fast disks"
[Labels]
region = k8s-region
zone = k8s-zone
`

// shared names a Secret, which stays.
const shared = `[Global]
secret-name = vcp
secret-namespace = kube-system
[VirtualCenter "vc.example.net"]
datacenters = dc
[Workspace]
server = vc.example.net
datacenter = dc
folder = k8s
`

func input(t *testing.T, text string, r *check.Report) steps.Input {
	t.Helper()
	src := migrate.Source{Name: "vsphere.conf", Data: []byte(text)}
	m, err := migrate.Convert(src, migrate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return steps.Input{Report: r, Config: m, Old: "vsphere.conf", Folder: "migration", Context: "prod", Datastores: steps.Datastores(src)}
}

func vm(name, hardware string, diskUUID bool) *check.VM {
	return &check.VM{VCenter: "vc", Path: "/dc/vm/k8s/" + name, HardwareVersion: hardware, DiskUUID: diskUUID, Region: "eu", Zone: "a"}
}

// before returns a cluster of the in-tree provider that needs every step.
func before() *check.Report {
	return &check.Report{
		Cluster: "prod", Version: "v1.24.17", InTree: true,
		VCenters: []check.VCenter{{Name: "vc", Server: "vc.example.net:443", Datastores: map[string]string{"fast disks": "ds:///vmfs/volumes/1/", "slow": "ds:///vmfs/volumes/2/"}}},
		Nodes: []check.Node{
			{Name: "cp-1", ControlPlane: true, VM: vm("cp-1", "vmx-19", true), OldRegion: "eu", OldZone: "a", Region: "eu", Zone: "a"},
			{Name: "worker-1", VM: vm("worker-1", "vmx-19", true), OldRegion: "eu", OldZone: "b", Region: "eu", Zone: "b"},
			{Name: "worker-2", VM: vm("it's 2", "vmx-13", false)},
			{Name: "worker-3"},
		},
		Volumes: []check.Volume{
			{Name: "pv-1", Path: "[fast disks] kubevols/1.vmdk", Disk: "found", Phase: "Bound", Claim: "app/data-db-0", Reclaim: "Delete", Pods: []string{"app/db-0"}, Attached: []string{"worker-1"}},
			{Name: "pv-2", Path: "[slow] kubevols/2.vmdk", Disk: "missing", Phase: "Bound", Claim: "app/data-db-1", Reclaim: "Retain"},
		},
		Classes: []check.Class{{Name: "standard", Parameters: map[string]string{"datastore": "slow"}, Default: true}},
		Findings: []check.Finding{
			{Check: "disk-uuid", Verdict: check.Fail, Where: "vc", Found: "1 of 3 VMs do not have disk.enableUUID: it's 2", Why: "a node does not find the disk of a volume", Try: "set disk.enableUUID"},
			{Check: "tag-categories", Verdict: check.Fail, Where: "vc", Found: `there is no tag category "k8s-zone" that the account may see`, Why: "no node gets a zone", Try: "make it"},
			{Check: "control-plane-flags", Verdict: check.Warn, Where: "cluster", Found: "--cloud-provider=vsphere: kube-controller-manager on cp-1", Why: "w", Try: "t", Objects: []string{"kube-controller-manager on cp-1"}},
			{Check: "login", Verdict: check.Pass, Where: "vc", Found: "lets us in"},
		},
	}
}

// done returns a sandbox that needs few steps.
func done() *check.Report {
	return &check.Report{
		Cluster: "lab", Version: "v1.36.4", VCenters: []check.VCenter{{Name: "vc"}}, Nodes: []check.Node{{Name: "worker-1", Driver: true, Migrated: true, VM: vm("worker-1", "vmx-21", true)}},
		Findings: []check.Finding{{Check: "control-plane-flags", Verdict: check.Warn, Where: "cluster", Found: "not seen", Why: "w", Try: "t"}},
	}
}

func plans(t *testing.T) map[string]*steps.Plan {
	t.Helper()
	many := before()
	many.Nodes = nil
	for i := range 12 {
		many.Nodes = append(many.Nodes, check.Node{Name: fmt.Sprintf("worker-%02d", i)})
	}
	lab := input(t, shared, done())
	lab.Context, lab.Sandbox, lab.ClusterID = "", "lab", "lab"
	kubeconfig := input(t, shared, before())
	kubeconfig.Context, kubeconfig.Kubeconfig, kubeconfig.Folder, kubeconfig.Force = "", "/home/me/my config", "new files/", true
	return map[string]*steps.Plan{
		"before": steps.New(input(t, old, before())), "many": steps.New(input(t, old, many)), "sandbox": steps.New(lab), "kubeconfig": steps.New(kubeconfig),
	}
}

func TestMarkdown(t *testing.T) {
	for name, p := range plans(t) {
		got := p.Markdown()
		if strings.Contains(got, "hunter2") {
			t.Error("prints a password")
		}
		file := filepath.Join("testdata", name+".md")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v; run with -update", err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
	}
}

// TestDatastoreURLs: each datastore that is named has one URL; a note reports an ambiguous name.
func TestDatastoreURLs(t *testing.T) {
	r := before()
	r.VCenters = []check.VCenter{
		{Name: "vc", Datastores: map[string]string{"ds": "ds:///1/", "a-ds": "ds:///2/", "fast disks": "ds:///3/", "unnamed": "ds:///9/"}},
		{Name: "vc2", Datastores: map[string]string{"ds": "ds:///1/", "fast disks": "ds:///4/"}},
	}
	r.Classes = []check.Class{{Name: "a", Parameters: map[string]string{"datastore": "a-ds"}}, {Name: "b", Parameters: map[string]string{"Datastore": "ds"}}}
	for _, s := range steps.New(input(t, old, r)).Steps {
		if s.ID != "configuration" {
			continue
		}
		line := s.Commands[len(s.Commands)-1].Run
		if want := " --datastore-url a-ds=ds:///2/ --datastore-url ds=ds:///1/ --datastore-url 'fast disks=ds:///3/'"; !strings.HasSuffix(line, want) {
			t.Errorf("%s, want%s", line, want)
		}
		if last := s.Text[len(s.Text)-1]; !strings.Contains(last, "in vCenter vc2 one of the same name is ds:///4/") || strings.Count(strings.Join(s.Text, "\n"), "same name") != 1 {
			t.Errorf("%q", s.Text)
		}
	}
}

// TestSameFlags: the commands of a plan get the flags that the plan was made with.
func TestSameFlags(t *testing.T) {
	in := input(t, old, before())
	in.VCenters, in.CSI, in.Choice = "vc.conf", "my csi.conf", []string{"--folder", "a b", "--vm", "w-*"}
	text := steps.New(in).Markdown()
	for _, want := range []string{
		"migrate check vsphere.conf --context prod --vcenter-config vc.conf --csi-vcenter-config 'my csi.conf' --folder 'a b' --vm 'w-*'\n",
		"migrate roles --vcenter-config env --folder 'a b' --vm 'w-*' --datastore",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestComplete: every step has a reason, a verification and a rollback.
func TestComplete(t *testing.T) {
	for name, p := range plans(t) {
		seen := map[string]bool{}
		for _, s := range p.Steps {
			if seen[s.ID] {
				t.Errorf("%s: step %s is there twice", name, s.ID)
			}
			seen[s.ID] = true
			if s.Title == "" || s.Why == "" {
				t.Errorf("%s: step %+v has no title or reason", name, s)
			}
			if len(s.Done) == 0 && s.ID != "verify" {
				t.Errorf("%s: step %s has no verification", name, s.ID)
			}
			if len(s.Undo) == 0 && s.UndoText == "" {
				t.Errorf("%s: step %s has no rollback", name, s.ID)
			}
		}
	}
}

// TestLineBreak: a line break in a name of vSphere adds no command.
func TestLineBreak(t *testing.T) {
	r := before()
	r.Nodes[2].VM.Path = "/dc/vm/a\n@cp-1\nreboot"
	r.Findings[0].Found = "a\n== b | c"
	p := steps.New(input(t, old, r))
	if len(p.Steps) != len(steps.New(input(t, old, before())).Steps) {
		t.Errorf("%d steps", len(p.Steps))
	}
	for _, s := range p.Steps {
		for _, c := range s.Commands {
			if c.Run == "reboot" || c.Run == "reboot'" {
				t.Errorf("%s: %+v", s.ID, c)
			}
			if s.ID == "machines" && strings.HasPrefix(c.Run, "govc vm.power") && !strings.HasSuffix(c.Run, "'/dc/vm/a\n@cp-1\nreboot'") {
				t.Errorf("%q", c.Run)
			}
		}
	}
}

// TestShell: a shell can parse every command.
func TestShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range plans(t) {
		for _, s := range p.Steps {
			for _, list := range [][]steps.Command{s.Commands, s.Done, s.Undo} {
				for _, c := range list {
					read := exec.CommandContext(t.Context(), sh, "-n")
					read.Stdin = strings.NewReader(c.Run)
					if out, err := read.CombinedOutput(); err != nil {
						t.Errorf("%s: %s: %s: %v: %s", name, s.ID, c.Run, err, out)
					}
				}
			}
		}
	}
}
