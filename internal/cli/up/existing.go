package up

import (
	"context"
	"fmt"
	"io"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/attach"
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

// attached is the sandbox in the cluster that is there.
func attached(ctx context.Context, o *options, instanceHome *home.Home, show func(sandbox.Progress)) (running, error) {
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
		Dir: instanceHome.Dir, Logger: instanceHome.Logger, Progress: show,
	}), nil
}

// planInCluster says what would be put into the cluster.
func planInCluster(o *options, w io.Writer) {
	fmt.Fprintf(w, "\nIn the cluster of %s: a namespace vsphere-sandbox-%s with the vCenters in one pod, pods of light nodes, and the cloud controller manager in kube-system.\n", o.where(), o.name)
}

// planExisting says what would be done to a cluster whose nodes are watched.
func planExisting(o *options, w io.Writer) {
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
