package up

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// existingWith completes the flags of a sandbox whose nodes are those of a cluster that is there.
func existingWith(t *testing.T, args string) (*options, report.Record) {
	t.Helper()
	e := clitest.NewEnv(nil)
	var got *options
	run := func(_ context.Context, o *options) error { got = o; return nil }
	all := append([]string{"--cluster", "existing", "--context", "lab", "--vcenter-config", elsewhere(t)}, strings.Fields(args)...)
	r := e.Run(t.Context(), NewCmdUp(e.Deps, run), all...)
	return got, r
}

// Without --ccm nothing is made there: none runs, at the pace that the cluster has.
func TestExisting(t *testing.T) {
	o, r := existingWith(t, "--folder k8s")
	if r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	on := o.ground.Of(false).Existing
	if !o.ccm.None() || o.speed != 1 || on == nil || on.Target.Context != "lab" || on.AllowController || o.ground.Podded() || o.csi.Driver != "off" {
		t.Errorf("%+v, on %+v", o, on)
	}
	o, r = existingWith(t, "--ccm builtin --ccm-replicas 2 --beside-cloud-controller --speed 1 --detached --api-port 0 --audit=false")
	if r.Exit != 0 || o.ccm.None() || !o.ground.Of(false).Existing.AllowController {
		t.Errorf("%+v: ended with %+v", o, r)
	}
	// The arguments of a detached process have the same meaning.
	if again := strings.Join(o.again(), " "); !strings.Contains(again, "--ccm=builtin") || !strings.Contains(again, "--cluster=existing") || !strings.Contains(again, "--beside-cloud-controller=true") {
		t.Errorf("again: %s", again)
	}
}

func TestExistingRefused(t *testing.T) {
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
			o, r := existingWith(t, args)
			if o != nil || r.Exit != report.Usage || !strings.Contains(r.Message, says) || r.Try == "" {
				t.Errorf("ended with %+v", r)
			}
		})
	}
}

// What follows from a choice, and what it excludes.
func TestCombine(t *testing.T) {
	const real = "vsphere.conf"
	for _, tc := range []struct {
		name, cluster, real, from string
		ccm, csi                  string // "" is the default
		changed                   string
		refused                   string
		wantCSI, wantCCM          string
	}{
		{name: "default", cluster: ground.Embedded, wantCSI: csi.Builtin},
		{name: "no CCM has no volumes", cluster: ground.Embedded, ccm: ccm.None, wantCSI: csi.Off, wantCCM: ccm.None},
		{name: "no CCM, volumes", cluster: ground.Embedded, ccm: ccm.None, csi: csi.Builtin, refused: "--ccm none"},
		{name: "kind", cluster: ground.Kind, wantCSI: csi.Builtin},
		{name: "kind, real", cluster: ground.Kind, real: real, wantCSI: csi.Off},
		{name: "kind, real, volumes", cluster: ground.Kind, real: real, csi: csi.Builtin, refused: "the disks of a real VM"},
		{name: "real", cluster: ground.Embedded, real: real, wantCSI: csi.Off},
		{name: "real, volumes", cluster: ground.Embedded, real: real, csi: csi.Builtin, wantCSI: csi.Builtin},
		{name: "real, scenario", cluster: ground.Embedded, real: real, from: "single", refused: "no scenario"},
		{name: "in a cluster", cluster: ground.Existing, wantCSI: csi.Off},
		{name: "in a cluster, volumes", cluster: ground.Existing, csi: csi.Builtin, refused: "take no volumes"},
		{name: "in a cluster, another's CCM", cluster: ground.Existing, ccm: "module:v1.36.0", refused: "the built-in cloud controller manager and no other"},
		{name: "in a cluster, a port", cluster: ground.Existing, changed: "vcenter-port", refused: "--vcenter-port"},
		{name: "pod, real", cluster: ground.Pod, real: real, refused: "exclude each other"},
		{name: "existing", cluster: ground.Existing, real: real, wantCSI: csi.Off, wantCCM: ccm.None},
		{name: "existing, a CCM", cluster: ground.Existing, real: real, ccm: "builtin", wantCSI: csi.Off, wantCCM: "builtin"},
		{name: "existing, volumes", cluster: ground.Existing, real: real, csi: csi.Builtin, refused: "its own"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := &options{ccm: ccm.Flags{Source: tc.ccm, MayBeNone: true}, csi: csi.Flags{Driver: cmp.Or(tc.csi, csi.Builtin)}, ground: ground.Flags{Cluster: tc.cluster}}
			cmd := &cobra.Command{}
			o.realFlags.Bind(cmd)
			if tc.real != "" {
				if err := cmd.Flags().Set("vcenter-config", tc.real); err != nil {
					t.Fatal(err)
				}
			}
			changed := func(flag string) bool { return flag == "csi" && tc.csi != "" || flag == tc.changed }
			err := o.combine(changed, tc.from)
			switch {
			case tc.refused != "":
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("%v, want %q", err, tc.refused)
				}
			case err != nil || o.csi.Driver != tc.wantCSI || o.ccm.Source != tc.wantCCM:
				t.Errorf("csi %s, ccm %s, %v", o.csi.Driver, o.ccm.Source, err)
			}
		})
	}
}
