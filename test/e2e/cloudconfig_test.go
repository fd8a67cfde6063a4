package e2e

import (
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// vsphere.conf is taken up as the ConfigMap is edited, by the process that runs; what cannot be read leaves what was in
// force; and what has to wait for a start is given one.
func cloudConfigEdited(s *sandbox) {
	t := s.T
	const name = "worker-eu-2"
	pid := s.Component("ccm").PID
	conf := program.Kubectl[corev1.ConfigMap](s.Sandbox, "-n", "kube-system", "get", "configmap", "vsphere-cloud-config").Data["vsphere.conf"]
	// edit replaces vsphere.conf and returns what becomes of that.
	edit := func(conf, kind string) event.Event {
		t.Helper()
		begin := s.Last()
		patch, err := json.Marshal(map[string]any{"data": map[string]string{"vsphere.conf": conf}})
		if err != nil {
			t.Fatal(err)
		}
		s.Run("kubectl", "-n", "kube-system", "patch", "configmap", "vsphere-cloud-config", "--type=merge", "-p", string(patch))
		e := s.awaitEvent(begin, reaction, kind, nil)
		s.checkCauses(e, kind, "ccm.config-changed")
		return e
	}
	says := func(e event.Event, words string) {
		t.Helper()
		if !strings.Contains(e.Message, words) {
			t.Errorf("%s lacks %q: %s", e.Kind, words, e.Message)
		}
	}
	without := func(section string) string {
		var kept []string
		skip := -1 // how far the section is indented
		for line := range strings.SplitSeq(conf, "\n") {
			indent := len(line) - len(strings.TrimLeft(line, " "))
			if skip >= 0 && indent > skip {
				continue
			}
			skip = -1
			if strings.TrimSpace(line) == section+":" {
				skip = indent
				continue
			}
			kept = append(kept, line)
		}
		return strings.Join(kept, "\n")
	}

	begin := s.Last()
	says(edit(without("labels"), "ccm.config-reloaded"), "labels.zone")
	s.registerAgain(name)
	s.Await("initialized without a zone", reaction, func() bool { return well(s.Node(name)) })
	if n := s.Node(name); n.Region != "" || n.Zone != "" {
		t.Errorf("region %q and zone %q, without labels in the configuration", n.Region, n.Zone)
	}

	says(edit(conf+"\nlabels: [", "ccm.config-rejected"), "vsphere.conf:")
	s.vm("power-off", "worker-west-1")
	s.Await("it goes on", reaction, func() bool { return tainted(s.Node("worker-west-1"), taintShutdown) })

	says(edit(conf, "ccm.config-reloaded"), "labels.zone")
	s.registerAgain(name)
	s.Await("initialized with its zone", reaction, func() bool { n := s.Node(name); return well(n) && n.Region == "eu" && n.Zone == "eu-all" })
	if c := s.Component("ccm"); c.PID != pid {
		t.Errorf("the cloud controller manager is process %d, was %d", c.PID, pid)
	}

	edit(without("eu"), "ccm.config-needs-restart")
	s.Await("started again", reaction, func() bool { c := s.Component("ccm"); return c.PID != 0 && c.PID != pid && c.State == "running" })
	again := s.awaitEvent(begin, reaction, "child.started", about("ccm"))
	s.checkCauses(again, "child.started", "ccm.restart", "ccm.config-needs-restart", "ccm.config-changed")
	s.awaitEvent(again.Seq, reaction, "ccm.vcenter-connected", about("us")) // it has read what there was
	pid = s.Component("ccm").PID
	says(edit(conf, "ccm.config-reloaded"), "vcenter.eu")
	s.never("a restart for what needs none, or the loss of a node", 3*time.Second, func() string {
		if got := s.Component("ccm").PID; got != pid {
			return "another process"
		}
		if gone := s.deleted(begin); strings.ReplaceAll(gone, " "+name, "") != "" {
			return "deleted:" + gone
		}
		return ""
	})
	s.vm("power-on", "worker-west-1")
	s.Await("all well", time.Minute, func() bool { return s.unwell(append(usNodes, euNodes...)) == "" })
}

// registerAgain deletes a Node and resets its VM, whose kubelet then registers.
func (s *sandbox) registerAgain(node string) {
	s.T.Helper()
	begin := s.Last()
	s.Run("kubectl", "delete", "node", node)
	s.vm("reset", node)
	s.awaitEvent(begin, reaction, "node.registered", about(node))
}
