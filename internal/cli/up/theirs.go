package up

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// completeTheirs checks a sandbox whose nodes are those of a cluster that is there, and whose VMs are those of real vCenters: it
// is a process of this machine, and only watches unless a cloud controller manager is asked for.
func (o *options) completeTheirs(cmd *cobra.Command) error {
	if o.ground.Cluster != ground.Existing || !o.realFlags.Asked() {
		return nil
	}
	o.ground.Beside = true
	if o.csi.Driver != csi.Off {
		return report.UsageError("leave --csi out", "--csi %s: the volumes of a real cluster are its own: it gets no CSI driver of a sandbox", o.csi.Driver)
	}
	for _, no := range []struct{ flag, why string }{
		{"image", "nothing of the sandbox runs as a pod there"},
		{"light", "its nodes are real ones, and none are light"},
		{"light-shards", "its nodes are real ones, and none are light"},
		{"beside-unowned-nodes", "a node is matched with its VM whether it has a providerID or not"},
		{"nodes", "which VMs are nodes is what the cluster says"},
		{"control-plane", "which nodes are the control plane is what the cluster says"},
		{"api-port", "the API server is not the sandbox's"},
		{"audit", "the API server is not the sandbox's"},
	} {
		// A process that was detached is told all of the last ones.
		if cmd.Flags().Changed(no.flag) && !o.detached {
			return report.UsageError("leave --"+no.flag+" out", "--%s, with --cluster existing and --vcenter-config: %s", no.flag, no.why)
		}
	}
	if !cmd.Flags().Changed("speed") {
		o.speed = 1
	}
	if o.speed != 1 {
		return report.UsageError("leave --speed out", "--speed %g: a real cluster lives at its own pace, which is 1", o.speed)
	}
	return o.completeTheirCCM(cmd)
}

// completeTheirCCM has none run unless one was asked for by name: it would change the nodes of somebody's cluster.
func (o *options) completeTheirCCM(cmd *cobra.Command) error {
	if o.ccm.Source != "" || o.ccm.Watch != "" {
		return nil
	}
	for _, about := range []string{"ccm-arg", "ccm-env", "ccm-replicas", "ccm-manifest"} {
		if cmd.Flags().Changed(about) {
			return report.UsageError("--ccm builtin", "--%s: in a real cluster no cloud controller manager is started unless --ccm or --ccm-watch says which", about)
		}
	}
	o.ccm.Source = ccm.None
	return nil
}

// planTheirs says what would be done to the cluster.
func planTheirs(o *options, w io.Writer) {
	fmt.Fprintf(w, "\nThe nodes would be those of the cluster of %s, each with the VM that has its UUID. ", o.where())
	if o.ccm.None() {
		fmt.Fprintln(w, "Nothing would be made there: no --ccm says that a cloud controller manager is to run.")
		return
	}
	fmt.Fprintf(w, "The cloud controller manager would run here, with an account in a namespace vsphere-sandbox-%s there, which goes with the sandbox.\n", o.name)
}

// where is the cluster that is there, in words.
func (o *options) where() string {
	if c := o.ground.There.Context; c != "" {
		return "context " + c
	}
	return "the kubeconfig's current context"
}
