package release

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// boots boots the default scenario of the archive, has it tell that every node is ready, and takes it down again.
func (j *jail) boots(env ...string) {
	j.t.Helper()
	j.t.Log(j.run(nil, "--version").Out)
	up := j.run(env, "up", "--detach")
	if up.Exit != 0 {
		j.t.Fatalf("up: exit status %d\n%s%s", up.Exit, up.Out, up.Err)
	}
	j.t.Log(up.Out + up.Err)
	var nodes struct {
		Items []struct {
			Name  string
			Ready bool
		}
	}
	if err := json.Unmarshal([]byte(j.fine(env, "kubectl", "get", "nodes", "-o", "json")), &nodes); err != nil || len(nodes.Items) == 0 {
		j.t.Errorf("%d nodes, %v", len(nodes.Items), err)
	}
	if table := j.fine(env, "kubectl", "get", "nodes"); strings.Contains(table, "NotReady") || !strings.Contains(table, "Ready") {
		j.t.Errorf("nodes are not ready:\n%s", table)
	}
	j.fine(env, "govc", "about")
	j.fine(env, "down")
	if left := j.fine(env, "list", "-o", "name"); left != "" {
		j.t.Errorf("left: %s", left)
	}
}

// An ordinary user with a home: the archive is all that it takes.
func TestBoots(t *testing.T) {
	j := newJail(t)
	home := "HOME=" + homeDir
	j.boots(home)
	var report struct {
		Sidecars   string
		Components []struct{ Name, Version, Program string }
	}
	if err := json.Unmarshal([]byte(j.fine([]string{home}, "version", "-o", "json")), &report); err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Components {
		if !strings.HasPrefix(c.Version, "v") {
			t.Errorf("%s in %s is of version %q", c.Name, c.Program, c.Version)
		}
	}
	if report.Sidecars != "carried" || len(report.Components) < 20 {
		t.Errorf("sidecars are %q, %d components", report.Sidecars, len(report.Components))
	}
	files := slices.DeleteFunc(j.do(order{List: homeDir}).Files, func(name string) bool { return strings.HasPrefix(name, "vsphere-sandbox") })
	for _, name := range files {
		if !strings.HasPrefix(name, ".cache") && name != ".local" && name != ".local/state" && name != ".local/state/vsphere-sandbox" {
			t.Errorf("left behind: %s", name)
		}
	}
}

// noHome is all that a command says which needs a place for sandboxes.
const noHome = `error: there is no place for sandboxes: state directory: $HOME is not defined; set VSPHERE_SANDBOX_STATE
try: export VSPHERE_SANDBOX_STATE=DIR   # a folder that you can write to
`

// Without a home it says what is missing, and writes nothing. What takes no sandbox works, and says nothing of it.
func TestNoHome(t *testing.T) {
	j := newJail(t)
	before := j.do(order{List: "/home"}).Files
	for _, args := range [][]string{{"up"}, {"up", "--csi", "off"}, {"list"}} {
		r := j.run(nil, args...)
		if diff := cmp.Diff(noHome, r.Err); r.Exit != 4 || diff != "" {
			t.Errorf("%v: exit status %d\n%s%s", args, r.Exit, r.Out, diff)
		}
	}
	for _, args := range [][]string{{"scenario", "list"}, {"fault", "list"}, {"topology", "graph", "single"}} {
		if r := j.run(nil, args...); r.Exit != 0 || r.Err != "" {
			t.Errorf("%v: exit status %d\n%s", args, r.Exit, r.Err)
		}
	}
	if diff := cmp.Diff(before, j.do(order{List: "/home"}).Files); diff != "" {
		t.Errorf("written (-before +after):\n%s", diff)
	}
	if left := j.do(order{List: "/tmp"}).Files; len(left) > 0 {
		t.Errorf("written: %v", left)
	}
}

// On a read-only disk it reports that and what to do, writes nothing, and boots in a writable state directory.
func TestReadOnlyDisk(t *testing.T) {
	j := newJail(t)
	j.do(order{ReadOnly: true})
	for _, args := range [][]string{{"up"}, {"up", "--csi", "off"}} {
		r := j.run([]string{"HOME=" + homeDir}, args...)
		if r.Exit != 4 || !strings.Contains(r.Err, "read-only file system") || !strings.Contains(r.Err, "try: export VSPHERE_SANDBOX_STATE=DIR") {
			t.Errorf("%v: exit status %d\n%s%s", args, r.Exit, r.Out, r.Err)
		}
	}
	if left := j.do(order{List: "/tmp"}).Files; len(left) > 0 {
		t.Errorf("written: %v", left)
	}
	j.boots("HOME="+homeDir, "VSPHERE_SANDBOX_STATE=/tmp/state")
}
