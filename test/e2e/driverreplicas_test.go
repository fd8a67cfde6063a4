package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// leads is the component that leads among the replicas of one, which have its name with a number, or "".
func (s *sandbox) leads(name string) string {
	s.T.Helper()
	all := s.Status().Components
	i := slices.IndexFunc(all, func(c api.Component) bool { return c.Leader && (c.Name == name || strings.HasPrefix(c.Name, name+"-")) })
	if i < 0 {
		return ""
	}
	return all[i].Name
}

// The CSI driver runs twice. The processes that lead are kept down: those of the other replica take over, and a claim from the time
// without a leader is bound. Every part that comes back follows.
func TestDriverReplicas(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHome(t)
	s := h.up("driver-replicas", "zones-us-eu", "--csi", "builtin", "--csi-replicas", "2")
	parts := []string{"csi-controller", "csi-provisioner", "csi-attacher"}
	first := map[string]string{}
	inject := []string{"fault", "inject", "csi.crash-loop", "--mode", "all"}
	for _, part := range parts {
		s.Await(part+" has a leader", reaction, func() bool { return s.leads(part) != "" })
		first[part] = s.leads(part)
		inject = append(inject, first[part])
	}
	seq := s.Last()
	s.Run(inject...)
	s.Run("kubectl", "apply", "-f", s.File("one.yaml", oneClaim))
	for _, part := range parts {
		var next string
		s.Await("the other "+part+" leads", time.Minute, func() bool {
			next = s.leads(part)
			return next != "" && next != first[part]
		})
		e := s.awaitEvent(seq, reaction, "csi.leader-changed", about(next))
		s.checkCauses(e, "csi.leader-changed", "child.exited", "component.killed", "fault.injected")
		if want := next + " leads; before it was " + first[part]; e.Message != want {
			t.Errorf("%q, want %q", e.Message, want)
		}
	}
	v := s.awaitVolume("data", api.VolumeInUse, bound)
	if all := s.volumes(); len(all) != 1 {
		t.Errorf("two made it: %+v", all)
	}
	s.Run("fault", "heal", "--all")
	for _, part := range parts {
		s.Await(first[part]+" is back, and follows", time.Minute, func() bool {
			c := s.Component(first[part])
			return c.State == "running" && c.Health != "unhealthy" && !c.Leader
		})
	}
	s.Run("kubectl", "delete", "deployment,pvc", "--all", "--wait=false")
	s.Await("the volume is gone, in CNS too", bound, func() bool {
		return len(s.volumes()) == 0 && !strings.Contains(s.Run("govc", "--vcenter", v.VCenter, "volume.ls", "-json"), v.Handle)
	})
}
