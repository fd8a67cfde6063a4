package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Any process that handles volumes may be killed while they come and go: they still come and go. test/storage is the long
// version.
func TestKillWithVolumes(t *testing.T) {
	t.Parallel()
	long(t)
	s := newHome(t).up("kill-volumes", "zones-us-eu", "--csi", "builtin")
	manifest := s.shipped("tutorials/volumes/statefulset.yaml")
	kill := func(victims ...string) {
		for _, victim := range victims {
			time.Sleep(time.Duration(rand.Int64N(int64(500 * time.Millisecond)))) // a random moment is the point
			// A sidecar that lost its driver exits, and may be about to be restarted.
			var pid int
			s.Await(victim+" runs", reaction, func() bool { pid = s.Component(victim).PID; return pid != 0 })
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	s.Run("kubectl", "apply", "-f", manifest)
	kill("csi-controller", "csi-provisioner", "csi-attacher", "control-plane")
	for i := range 3 {
		v := s.awaitVolume(fmt.Sprintf("data-web-%d", i), api.VolumeInUse, 2*time.Minute)
		if n := s.Node(v.Node); n.VM != v.VM {
			t.Errorf("%+v on %+v", v, n)
		}
	}
	if got := len(s.volumes()); got != 3 {
		t.Errorf("%d volumes\n%s", got, s.Run("get", "volumes"))
	}
	s.Run("kubectl", "delete", "statefulset", "web")
	s.Run("kubectl", "delete", "pvc", "--all", "--wait=false")
	kill("csi-controller", "csi-attacher", "csi-provisioner")
	s.Await("no volume is left", 2*time.Minute, func() bool { return len(s.volumes()) == 0 })
	if left := strings.TrimSpace(s.Run("kubectl", "get", "volumeattachments", "-o", "name")); left != "" {
		t.Errorf("left: %s", left)
	}
}
