package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// program puts a script where the program's user can run it.
func (h *home) program(name, text string) string {
	h.T.Helper()
	path := filepath.Join(h.Tmp, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = os.Remove(path) })
	return path
}

// refusal is arguments of up, and how it ends with them.
type refusal struct {
	args string
	code int
	want string
}

// refuses requires that sandboxes do not come up, each as it should.
func (h *home) refuses(all []refusal) {
	h.T.Helper()
	for _, one := range all {
		if r := h.Try(append([]string{"up", "single"}, strings.Fields(one.args)...)...); r.Code != one.code || !strings.Contains(r.Err, one.want) {
			h.T.Errorf("%s: exit status %d, want %d; said:\n%s", one.args, r.Code, one.code, r.Both())
		}
	}
}

// gaveWay requires that a build of a watched program which was placed after the event seq gives way to the build that ran before it, and
// that group says so: "ccm" or "csi".
func (s *sandbox) gaveWay(group, component string, before api.Component, seq uint64) {
	s.T.Helper()
	s.awaitEvent(seq, time.Minute, group+".swap-failed", about(component))
	s.Await("the one before runs again", time.Minute, func() bool {
		c := s.Component(component)
		return c.Health == "healthy" && c.Digest == before.Digest && strings.Contains(c.FailedBuild, "did not start")
	})
	if r := s.home.Try("--name", s.Name, group, "status"); r.Code != 3 || !strings.Contains(r.Err, "an older build runs") {
		s.T.Errorf("exit status %d, said %s", r.Code, r.Both())
	}
}

// given is what a cloud controller manager gives nodes, in words that can be compared.
func (s *sandbox) given() string {
	s.T.Helper()
	var b strings.Builder
	for _, n := range program.Kubectl[corev1.NodeList](s.Sandbox, "get", "nodes").Items {
		fmt.Fprintln(&b, n.Name, n.UID, n.Spec.ProviderID, n.Spec.Taints, n.Labels, n.Status.Addresses)
	}
	return b.String()
}

// Another cloud controller manager takes the place of the one that runs, with the rights that upstream's manifests give,
// and nothing becomes of the nodes. One that is no good gives way to the one before it.
func TestSwapCCM(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	another := h.program("another-ccm", "exec "+binary+` builtin-ccm "$@"`)
	dies := h.program("dies", "echo no such luck >&2; exit 3")
	s := h.up("swap", "zones-us-eu", "--ccm", another)
	if c := s.Component("ccm"); c.Source != another || c.Health != "healthy" || !strings.HasPrefix(c.Digest, "sha256:") {
		t.Errorf("booted with %+v", c)
	}
	s.Await("the taint of nodes that are not ready is gone", reaction, func() bool { return !strings.Contains(s.given(), "not-ready") })
	before, begin := s.given(), s.Last()
	for _, source := range []string{"builtin", another, "builtin"} {
		s.Run("ccm", "swap", source)
		if c := s.Component("ccm"); c.Source != source || c.Health != "healthy" || c.Restarts != 0 {
			t.Errorf("%s: %+v", source, c)
		}
		// What it does first is done by now: it has asked for every node.
		time.Sleep(3 * time.Second)
	}
	if after := s.given(); after != before {
		t.Errorf("nodes before:\n%sand after:\n%s", before, after)
	}
	for _, kind := range []string{"node.labelled", "node.tainted", "node.provider-id", "node.deleted", "child.exited", "ccm.unhealthy"} {
		if list := s.Since(begin, kind); len(list) > 0 {
			t.Errorf("%+v", list)
		}
	}
	roles := s.Run("kubectl", "get", "clusterroles,roles", "-A", "-o", "name")
	if strings.Contains(roles, "system:cloud-controller-manager") || !strings.Contains(roles, "system:vsphere-cloud-controller-manager") {
		t.Errorf("the rights of one that is gone are left, or ours are not there:\n%s", roles)
	}

	seq := s.Last()
	if r := h.Try("--name", s.Name, "ccm", "swap", dies); r.Code != 1 || !strings.Contains(r.Err, "exit status 3: no such luck; builtin runs again") {
		t.Errorf("exit status %d, said %s", r.Code, r.Both())
	}
	failed := s.awaitEvent(seq, reaction, "ccm.swap-failed", about("ccm"))
	s.checkCauses(failed, "ccm.swap-failed", "ccm.swap")
	if c := s.Component("ccm"); c.Source != "builtin" || c.Health != "healthy" {
		t.Errorf("after it: %+v", c)
	}
	metrics, err := s.Client.Metrics(t.Context(), "ccm")
	if err != nil || !strings.Contains(string(metrics), "process_start_time_seconds ") {
		t.Errorf("metrics: %.200q, %v", metrics, err)
	}
	if metrics, err = s.Client.Metrics(t.Context(), "control-plane"); err != nil || !strings.Contains(string(metrics), "apiserver_request_total") {
		t.Errorf("metrics of the API server: %.200q, %v", metrics, err)
	}
	pid := s.Component("ccm").PID
	s.Run("ccm", "restart")
	if c := s.Component("ccm"); c.PID == pid || c.Health != "healthy" {
		t.Errorf("restarted: %+v", c)
	}
}

// Of several one leads; while it is killed whenever it comes up, another does. (One that is killed only once may win the
// Lease again: it comes up long before the Lease expires.)
func TestCCMReplicas(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.up("replicas", "single", "--ccm-replicas", "2")
	leader := func() string {
		for _, c := range s.Status().Components {
			if c.Leader {
				return c.Name
			}
		}
		return ""
	}
	s.Await("one leads", reaction, func() bool { return leader() != "" })
	first, seq := leader(), s.Last()
	s.Run("fault", "inject", "ccm.crash-loop")
	s.Await("the other leads", time.Minute, func() bool { l := leader(); return l != "" && l != first })
	e := s.awaitEvent(seq, reaction, "ccm.leader-changed", about(leader()))
	s.checkCauses(e, "ccm.leader-changed", "child.exited", "component.killed", "fault.injected")
	if want := leader() + " leads; before it was " + first; e.Message != want {
		t.Errorf("%q, want %q", e.Message, want)
	}
	s.Run("fault", "heal", "--all")
	s.Run("ccm", "swap", "builtin") // one again
	if c := s.Component("ccm-2"); c.Name != "" {
		t.Errorf("the second is still there: %+v", c)
	}
}

// A program that is rebuilt is restarted; one that fails does not run for long.
func TestWatchCCM(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHome(t)
	text := "exec " + binary + ` builtin-ccm "$@"`
	path := h.program("watched", text)
	s := h.up("watch", "single", "--ccm-watch", path)
	build := func(text string) {
		t.Helper()
		next := h.program("next", text)
		if err := os.Rename(next, path); err != nil {
			t.Fatal(err)
		}
	}
	was, seq := s.Component("ccm"), s.Last()
	build(text + "\n# two")
	s.checkCauses(s.awaitEvent(seq, time.Minute, "ccm.swapped", about("ccm")), "ccm.swapped", "ccm.swap", "ccm.rebuilt")
	now := s.Component("ccm")
	if now.Digest == was.Digest || now.PID == was.PID || now.Source != path {
		t.Errorf("before %+v, after %+v", was, now)
	}
	seq = s.Last()
	build("exit 3")
	s.gaveWay("ccm", "ccm", now, seq)
	build(text + "\n# two") // undone: these bytes run already
	s.Await("the newest build runs", time.Minute, func() bool { return s.Component("ccm").FailedBuild == "" })
	s.Run("ccm", "status")
}

// Anything that is named as a cloud controller manager and is none: a clear message, the right exit status, nothing left.
func TestBadCCMs(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	plain := h.File("plain", "text")
	dies := h.program("dies", "echo no such luck >&2; exit 3")
	h.refuses([]refusal{
		{"--ccm " + dies, 1, "exit status 3: no such luck"},
		{"--ccm " + plain, 2, "is not executable"},
		{"--ccm " + filepath.Join(h.Tmp, "none"), 2, "there is no such file"},
		{"--ccm oci:x", 2, `there is no source "oci:"`},
		{"--ccm archive:" + plain, 2, "is no tar of an image"},
		{"--ccm image:127.0.0.1:1/some/ccm:v1", 4, "connection refused by 127.0.0.1:1"},
		{"--ccm module:latest", 2, "is no version"},
		{"--ccm-replicas 0", 2, "want a number from 1 to 9"},
		{"--ccm-arg v=4", 2, "take flags alone"},
		{"--ccm-env A", 2, "want NAME=VALUE"},
		{"--ccm-watch " + filepath.Join(h.Tmp, "none", "ccm"), 2, "there is no such folder"},
	})
}
