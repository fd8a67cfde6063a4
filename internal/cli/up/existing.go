package up

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/attach"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/home"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// running is a sandbox as "up" sees it: one of this process, or one in a cluster that this process attaches to.
type running interface {
	Run(ctx context.Context, ready func()) error
	Log() *event.Log
	Status() api.Status
	Nodes() []api.Node
}

// completeOthers checks what cannot be in a cluster that others use.
func (o *options) completeOthers(cmd *cobra.Command) error {
	if !o.ground.Others() {
		return nil
	}
	if o.realFlags.Asked() { // of a pod
		return report.UsageError("vsphere-sandbox up --cluster existing --vcenter-config FILE   # from outside of the cluster",
			"--cluster %s and --vcenter-config exclude each other: real vCenters have no sandbox in a cluster", o.ground.Cluster)
	}
	if !cmd.Flags().Changed("csi") {
		o.csi.Driver = csi.Off
	}
	if o.csi.Driver != csi.Off {
		return report.UsageError("--cluster kind --csi builtin", "--csi %s: there, nodes are light ones, which take no volumes", o.csi.Driver)
	}
	if c := o.ccm; c.Source != "" && c.Source != "builtin" || c.Watch != "" || c.Manifest != "" || len(c.Env) > 0 {
		return report.UsageError("--cluster kind --ccm "+c.Source,
			"--cluster %s: it gets the built-in cloud controller manager and no other: upstream's deletes the Nodes of others, whose VMs it does not find", o.ground.Cluster)
	}
	for _, none := range []string{"api-port", "audit", "retain"} {
		if cmd.Flags().Changed(none) && o.ground.Inside() && !o.detached {
			return report.UsageError("leave --"+none+" out", "--%s: the API server is not the sandbox's, and nothing is kept there", none)
		}
	}
	if cmd.Flags().Changed("vcenter-port") {
		return report.UsageError("leave --vcenter-port out", "--vcenter-port: there the vCenters are in a pod of their own, whose port no other program has")
	}
	return nil
}

// attached is the sandbox in the cluster that is there.
func attached(ctx context.Context, o *options, house *home.Home, show func(sandbox.Progress)) (running, error) {
	there := o.ground.There
	name := there.Image
	if name == "" {
		set, err := image.Sandbox(ctx, o.Self, "")
		if err != nil {
			return nil, &report.Error{
				Code: "image-missing", Message: "the cluster needs an image of this program", Err: err, Exit: report.Prerequisite,
				Try: "--image REPOSITORY:TAG   # that the cluster can pull",
			}
		}
		name = set.Name(image.Program)
	}
	return attach.New(attach.Options{
		Name: o.name, Topology: o.topology, Speed: pace.Speed(o.speed), Target: there.Target(), Image: name, Shards: there.Shards,
		Args: append(o.ccm.Again(), o.csi.Again()...), BesideController: there.BesideController, BesideUnowned: there.BesideUnowned,
		Dir: house.Dir, Logger: house.Logger, Progress: show,
	}), nil
}

// planExisting says what would be put into the cluster.
func planExisting(o *options, w io.Writer) {
	fmt.Fprintf(w, "\nIn the cluster of %s: a namespace vsphere-sandbox-%s with the vCenters in one pod, pods of light nodes, and the cloud controller manager in kube-system.\n", o.where(), o.name)
}
