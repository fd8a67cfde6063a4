package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

const twoAccounts = `apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: rotation}
spec:
  vcenters:
    - name: vc
      users:
        - {name: ccm-1@vsphere.local, password: the first one}
        - {name: ccm-2@vsphere.local, password: the second one}
      permissions:
        - {user: ccm-1@vsphere.local, role: ReadOnly}
        - {user: ccm-2@vsphere.local, role: ReadOnly}
      datacenters:
        - name: dc
          clusters: [{name: c, hosts: [{name: esx-1}]}]
          vms: [{name: "worker-{n}", replicas: 2, role: worker}]
`

// Credentials that are put into the Secret are in use within ten seconds, by the process that runs. With wrong ones, and
// without a session, no node is deleted and its Events say why.
func TestCredentialsRotated(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.up("rotation", h.File("rotation.yaml", twoAccounts))
	pid := s.Component("ccm").PID
	access, err := s.Client.Access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(access[0].URL, "https://"), ":")
	secret := func(user, password string) {
		t.Helper()
		encode := base64.StdEncoding.EncodeToString
		s.Run("kubectl", "-n", "kube-system", "patch", "secret", "vsphere-cloud-secret", "--type=merge", "-p",
			fmt.Sprintf(`{"data":{%q:%q,%q:%q}}`, host+".username", encode([]byte(user)), host+".password", encode([]byte(password))))
	}
	inUse := func(user string) {
		t.Helper()
		s.Await(user+" is in use", 10*time.Second, func() bool { return s.sessionOf(user) != "" })
	}
	secret("ccm-1@vsphere.local", "the first one")
	inUse(`VSPHERE.LOCAL\ccm-1`)
	secret("ccm-2@vsphere.local", "the second one")
	inUse(`VSPHERE.LOCAL\ccm-2`)
	s.Await("the session of the account before is over", 10*time.Second, func() bool { return s.sessionOf(`VSPHERE.LOCAL\ccm-1`) == "" })

	begin := s.Last()
	secret("ccm-2@vsphere.local", "certainly wrong")
	refused := s.awaitEvent(begin, reaction, "ccm.vcenter-login-failed", about("vc"))
	s.checkCauses(refused, "ccm.vcenter-login-failed", "ccm.credentials-changed")
	s.Run("govc", "session.rm", s.sessionOf(`VSPHERE.LOCAL\ccm-2`)) // the one that it has stays in use as long as it lasts
	s.vm("destroy", "worker-2", "--yes")
	s.Await("NotReady", reaction, func() bool { return s.Node("worker-2").Ready == "Unknown" })
	held := s.awaitEvent(begin, reaction, "ccm.vcenter-unavailable", about("worker-2"))
	s.checkCauses(held, "ccm.vcenter-unavailable", "ccm.vcenter-login-failed", "ccm.credentials-changed")
	s.checkNodeEvent("worker-2", "VCenterUnavailable", "ccm-2@vsphere.local", "wrong user name or password")
	for _, e := range s.Since(begin, "") {
		if strings.Contains(e.Message, "certainly wrong") {
			t.Errorf("event %s tells the password: %s", e.Kind, e.Message)
		}
	}
	s.never("a node is deleted for want of a password", 5*time.Second, func() string { return s.deleted(begin) })

	secret("ccm-2@vsphere.local", "the second one")
	inUse(`VSPHERE.LOCAL\ccm-2`)
	s.Await("Node object gone", 10*time.Second, func() bool { return !s.Node("worker-2").Registered })
	gone := s.awaitEvent(begin, reaction, "node.deleted", about("worker-2"))
	s.checkCauses(gone, "node.deleted", "vm.destroyed", "command.destroy")
	if !well(s.Node("worker-1")) {
		t.Errorf("the other node: %+v", s.Node("worker-1"))
	}
	if c := s.Component("ccm"); c.PID != pid {
		t.Errorf("the cloud controller manager is process %d, was %d", c.PID, pid)
	}
}

// sessionOf returns the key of the cloud provider's session with an account, or "".
func (s *sandbox) sessionOf(user string) string {
	s.T.Helper()
	var list struct {
		SessionList []struct{ Key, UserName, UserAgent string }
	}
	out := s.Run("govc", "session.ls", "-json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		s.T.Fatalf("%v\n%s", err, out)
	}
	for _, session := range list.SessionList {
		if session.UserName == user && session.UserAgent == "vsphere-cloud-provider" {
			return session.Key
		}
	}
	return ""
}

// checkNodeEvent wants an Event about a node with a reason and these words, as kubectl shows it.
func (s *sandbox) checkNodeEvent(node, reason string, words ...string) {
	s.T.Helper()
	list := program.Kubectl[corev1.EventList](s.Sandbox, "get", "events", "--field-selector", "involvedObject.kind=Node,involvedObject.name="+node+",reason="+reason)
	if len(list.Items) == 0 {
		s.T.Errorf("node %s: no Event %s", node, reason)
	}
	for _, e := range list.Items {
		for _, w := range words {
			if !strings.Contains(e.Message, w) {
				s.T.Errorf("node %s: Event %s lacks %q: %s", node, reason, w, e.Message)
			}
		}
	}
}
