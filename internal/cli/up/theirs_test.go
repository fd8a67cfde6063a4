package up

import (
	"context"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// beside completes the flags of a sandbox whose nodes are those of a cluster that is there.
func beside(t *testing.T, args string) (*options, report.Record) {
	t.Helper()
	e := clitest.NewEnv(nil)
	var got *options
	run := func(_ context.Context, o *options) error { got = o; return nil }
	all := append([]string{"--cluster", "existing", "--context", "lab", "--vcenter-config", elsewhere(t)}, strings.Fields(args)...)
	r := e.Run(t.Context(), NewCmdUp(e.Deps, run), all...)
	return got, r
}

// Without --ccm nothing is made there: none runs, at the pace that the cluster has.
func TestTheirs(t *testing.T) {
	o, r := beside(t, "--folder k8s")
	if r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	on := o.ground.Of(false).Theirs
	if !o.ccm.None() || o.speed != 1 || on == nil || on.Target.Context != "lab" || on.BesideController || o.ground.Podded() || o.csi.Driver != "off" {
		t.Errorf("%+v, on %+v", o, on)
	}
	o, r = beside(t, "--ccm builtin --ccm-replicas 2 --beside-cloud-controller --speed 1 --detached --api-port 0 --audit=false")
	if r.Exit != 0 || o.ccm.None() || !o.ground.Of(false).Theirs.BesideController {
		t.Errorf("%+v: ended with %+v", o, r)
	}
	// What is told to a process that is detached says the same.
	if again := strings.Join(o.again(), " "); !strings.Contains(again, "--ccm=builtin") || !strings.Contains(again, "--cluster=existing") || !strings.Contains(again, "--beside-cloud-controller=true") {
		t.Errorf("again: %s", again)
	}
}

func TestTheirsRefused(t *testing.T) {
	for args, says := range map[string]string{
		"single":                         "no scenario and no topology",
		"--csi builtin":                  "the volumes of a real cluster are its own",
		"--image x:y":                    "nothing of the sandbox runs as a pod there",
		"--light":                        "none are light",
		"--light-shards 2":               "none are light",
		"--beside-unowned-nodes":         "--beside-unowned-nodes",
		"--nodes worker-*":               "what the cluster says",
		"--control-plane cp-*":           "what the cluster says",
		"--api-port 6443":                "the API server is not the sandbox's",
		"--audit":                        "the API server is not the sandbox's",
		"--speed 10":                     "its own pace",
		"--ccm-arg=--v=4":                "no cloud controller manager is started unless",
		"--ccm-replicas 2":               "no cloud controller manager is started unless",
		"--ccm builtin --ccm-manifest x": "--ccm-manifest is for --cluster kind",
	} {
		t.Run(args, func(t *testing.T) {
			o, r := beside(t, args)
			if o != nil || r.Exit != report.Usage || !strings.Contains(r.Message, says) || r.Try == "" {
				t.Errorf("ended with %+v", r)
			}
		})
	}
}
