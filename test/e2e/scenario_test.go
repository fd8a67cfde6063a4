package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const scenarioHeader = "apiVersion: sandbox.vsphere/v1alpha1\nkind: Scenario\nmetadata: {name: mine}\ntopology: single\nsteps:\n"

// suite is the part of scenario run -o json that these tests read.
type suite struct {
	Verdict   string
	Scenarios []struct {
		Name, Verdict, Message string
		Steps                  []struct{ Action, Verdict string }
	}
}

func (h *home) artifacts(name string) string {
	h.T.Helper()
	dir := filepath.Join(h.Tmp, name)
	h.T.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Scenarios run on a separate sandbox, which is removed afterwards; they write results as data, and a directory with
// everything. A failed scenario sets the exit status, and also leaves nothing broken.
func TestScenarioRun(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	good := h.File("good.yaml", scenarioHeader+`
- {inject: vm.power-off, on: {vm: worker-1}, as: off}
- expect: {vm: worker-1, power: off}
- run: [kubectl, get, nodes, -o, name]
  stdout: node/worker-1
- heal: off
- expect: {node: worker-1, ready: True, labels: {kubernetes.io/hostname: worker-1, not-there: }}
`)
	// It is never true, what is expected; and of what was broken nothing is healed.
	bad := h.File("bad.yaml", strings.Replace(scenarioHeader, "mine", "bad", 1)+`
- {inject: vcenter.latency, on: {vcenter: vc}, with: {delay: 5ms}}
- wait: {vm: worker-1, power: suspended}
  within: 1s
- note: not reached
`)
	dir := h.artifacts("results")
	r := h.Try("--name", "run", "scenario", "run", good, bad, "-o", "json", "--artifacts", dir)
	if r.Code != 3 {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
	var got suite
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || len(got.Scenarios) != 2 {
		t.Fatalf("%v\n%s", err, r.Both())
	}
	if s := got.Scenarios[0]; s.Verdict != "passed" || len(s.Steps) != 5 {
		t.Errorf("%+v\n%s", s, r.Err)
	}
	if s := got.Scenarios[1]; s.Verdict != "failed" || !strings.Contains(s.Message, "suspended") || s.Steps[2].Verdict != "skipped" {
		t.Errorf("%+v\n%s", s, r.Err)
	}
	if n := strings.Count(r.Err, "ready in"); n != 1 {
		t.Errorf("%d boots\n%s", n, r.Err)
	}
	for name, has := range map[string]string{
		"started.json": `"timestamp"`, "finished.json": `"FAILURE"`, "build-log.txt": "passed in", "report.html": "<!doctype html>",
		"artifacts/junit_*.xml": "<failure", "artifacts/events.jsonl": `"fault.injected"`, "artifacts/inventory/1-vms.json": `"worker-1"`,
		"artifacts/objects/1-nodes.yaml": "kind: Node", "artifacts/logs/1-ccm.log": "", "artifacts/inventory/1-calls.json": `"method"`,
	} {
		found, err := filepath.Glob(filepath.Join(dir, name))
		if err != nil || len(found) == 0 {
			t.Errorf("there is no %s", name)
			continue
		}
		if b, err := os.ReadFile(found[0]); err != nil || !strings.Contains(strings.ToLower(string(b)), strings.ToLower(has)) {
			t.Errorf("%s lacks %s: %v", name, has, err)
		}
	}
	if left := h.Processes(); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

// Ctrl-C in the middle of a scenario ends it with 130, after everything was put away.
func TestScenarioInterrupted(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := h.File("long.yaml", scenarioHeader+"- {inject: vcenter.down, on: {vcenter: vc}, as: out}\n- {never: {event: {kind: node.deleted}}, for: 10m}\n")
	c := h.Cmd("--name", "cut", "scenario", "run", path)
	reported, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	cut := false
	text, buf := "", make([]byte, 4096)
	for {
		n, err := reported.Read(buf)
		if text += string(buf[:n]); !cut && strings.Contains(text, "inject vcenter.down") {
			cut = true
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
		if err != nil {
			break
		}
	}
	if _ = c.Wait(); c.ProcessState.ExitCode() != 130 || !strings.Contains(text, "interrupted") {
		t.Errorf("exit status %d\n%s", c.ProcessState.ExitCode(), text)
	}
	if left := h.Processes(); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

// What is wrong with a scenario, or with how it is asked for, is said before anything is started.
func TestBadScenarios(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, tc := range []struct {
		name, steps string
		want        []string
	}{
		{"key", "- {expct: {node: worker-1}}\n", []string{"key.yaml:6:", "expct", `did you mean "expect"`}},
		{"field", "- {expect: {node: worker-1, redy: True}}\n", []string{"field.yaml:6:", `did you mean "ready"`}},
		{"fault", "- {inject: vm.poweroff, on: {vm: worker-1}}\n", []string{"fault.yaml:6:", `did you mean "vm.power-off"`}},
		{"target", "- {inject: vm.power-off, on: {vm: wroker-1}}\n", []string{"target.yaml:6:", `did you mean "worker-1"`}},
		{"object", "- {expect: {node: worker-9, exists: no}}\n", []string{"object.yaml:6:", "worker-9"}},
		{"step", "- {inject: vm.power-off, on: {vm: worker-1}, as: off}\n- {heal: of}\n", []string{"step.yaml:7:", "of", `did you mean "off"`}},
		{"cause", "- {never: {event: {kind: node.deleted, cause: later}}, until: end}\n- {inject: vcenter.down, on: {vcenter: vc}, as: later}\n", []string{"cause.yaml:6:", "later"}},
		{"nothing", "- {expect: []}\n", []string{"nothing.yaml:6:"}},
		{"endless", "- {never: {node: worker-1, ready: Unknown}}\n", []string{"endless.yaml:6:", "until"}},
		{"time", "- {wait: {node: worker-1, ready: True}, within: soon}\n", []string{"time.yaml:6:", "soon"}},
	} {
		path := h.File(tc.name+".yaml", scenarioHeader+tc.steps)
		for _, verb := range []string{"validate", "run"} {
			r := h.Try("scenario", verb, path)
			if r.Code != 2 || r.Out != "" || !strings.HasPrefix(r.Err, "error: ") {
				t.Errorf("%s %s: exit status %d\n%s", verb, tc.name, r.Code, r.Both())
			}
			for _, want := range tc.want {
				if !strings.Contains(r.Err, want) {
					t.Errorf("%s %s: no %q in\n%s", verb, tc.name, want, r.Err)
				}
			}
		}
	}
	fine := h.File("fine.yaml", scenarioHeader+"- {expect: {node: worker-1, ready: True}}\n")
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run"}, 2, "--suite"},
		{[]string{"run", "nosuch"}, 2, "nosuch"},
		{[]string{"run", fine, "--on", "nobody"}, 1, "nobody"},
		{[]string{"run", fine, "--on", "nobody", "--speed", "3"}, 2, "--speed"},
		{[]string{"run", fine, "-o", "xml"}, 2, "junit"},
		{[]string{"run", fine, "--set", "workers=3"}, 2, "workers"},
		{[]string{"run", fine, "--patience", "0"}, 2, "--patience"},
		{[]string{"run", fine, "--artifacts", "/proc/nowhere"}, 1, "/proc/nowhere"},
		{[]string{"show", "nosuch"}, 2, "nosuch"},
		{[]string{"list", "nosuch"}, 2, "nosuch"},
		{[]string{"record"}, 1, "vsphere-sandbox up"},
	} {
		r := h.Try(append([]string{"scenario"}, tc.args...)...)
		if r.Code != tc.code || !strings.Contains(r.Err, tc.want) || r.Out != "" {
			t.Errorf("%v: exit status %d, want %d, and %q in:\n%s", tc.args, r.Code, tc.code, tc.want, r.Both())
		}
	}
	if left := h.Processes(); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

// What was done by hand becomes a scenario that can be run.
func TestScenarioRecord(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.up("record", "single")
	h.Try("--name", s.Name, "vm", "power-on", "worker-1") // refused: it is on, so that nothing was done
	s.Run("fault", "inject", "vm.power-off", "worker-1")
	s.Await("NotReady", time.Minute, func() bool { return s.Node("worker-1").Ready != "True" })
	s.Run("fault", "heal", "--all")
	s.Await("Ready", time.Minute, func() bool { return s.Node("worker-1").Ready == "True" })
	text := s.Run("scenario", "record")
	if strings.Contains(text, "power-on") || !strings.Contains(text, "inject: vm.power-off") || !strings.Contains(text, "heal: f1") {
		t.Errorf("recorded:\n%s", text)
	}
	path := h.File("recorded.yaml", text)
	r := h.Try("scenario", "run", path, "--on", s.Name)
	if r.Code != 0 || !strings.Contains(r.Out, "1 passed") {
		t.Errorf("exit status %d\n%s\n%s", r.Code, r.Both(), text)
	}
	if got := s.Status(); got.Nodes.Ready != got.Nodes.Wanted {
		t.Errorf("nodes: %+v", got.Nodes)
	}
}
