package sandbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/nodeimage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// KindPlan is what a boot on [Kind] would do: the configuration that kind would be given, and the steps in words. Name,
// Topology, Real, Speed, Port, Cluster, CCM and CSI of the options count; dir is what would be the sandbox's directory. Nothing is
// made. A container runtime is asked what node images it has, if one answers, but it need not.
func KindPlan(ctx context.Context, opts Options, dir string) (config []byte, steps []string, err error) {
	o := opts.Cluster.Kind
	rt, err := kind.Detect(ctx)
	if err != nil { // what it would run with is found out by the boot
		rt = nil
	}
	image := o.Image
	if image == "" {
		image = plannedImage(ctx, rt)
	}
	nodes, err := boundTo(opts.Topology, opts.Real != nil)
	if err != nil {
		return nil, nil, err
	}
	k := kind.Options{
		Name: opts.Name, Dir: dir, Nodes: nodes, Image: image,
		Volumes: plannedFolders(opts, dir), UserConfig: o.Config, UserFile: o.ConfigFile, Speed: opts.Speed, Retain: o.Retain, Port: opts.Port, Runtime: rt,
		Firmware: opts.CSI.Foreign != nil, Mirrors: opts.CSI.Foreign != nil,
	}
	if config, steps, err = kind.Plan(k); err != nil {
		return nil, nil, err
	}
	more, err := podSteps(opts, k)
	return config, append(steps, more...), err
}

// plannedFolders is where volumes will be that are to be directories; "" where that is not certain: it is tried by a boot.
func plannedFolders(opts Options, dir string) string {
	if !opts.CSI.Enabled || opts.Cluster.Kind.Volumes != KindVolumesDir {
		return ""
	}
	return kindFolders(dir)
}

// plannedVolumes is the step that says what volumes are.
func plannedVolumes(opts Options, dir string) string {
	folders := kindFolders(dir)
	switch opts.Cluster.Kind.Volumes {
	case KindVolumesDir:
		return "have volumes be directories, in " + folders
	case KindVolumesDevice:
		return "have volumes be block devices, of loop devices of this machine"
	}
	return "have volumes be block devices, of loop devices of this machine; where those are refused, directories in " + folders + ", which nodes have mounted then"
}

// plannedImage is the node image that a boot would find, as far as can be said without fetching one.
func plannedImage(ctx context.Context, rt *runtime.Runtime) string {
	official := nodeimage.Official + ":" + build.Kubernetes()
	if rt == nil {
		return official
	}
	all, err := nodeimage.Finder{Store: images.Store{Runtime: rt}, Kubernetes: build.Kubernetes()}.List(ctx)
	if err != nil || len(all) == 0 {
		return official
	}
	return all[0].Name
}

// podSteps are what comes when kind is done.
func podSteps(opts Options, k kind.Options) (steps []string, err error) {
	c, err := kind.New(k)
	if err != nil {
		return nil, err
	}
	program := opts.CCM.withDefaults()
	pods := program.Watch == "" && (program.Program.Path == "" || len(program.Manifest) > 0)
	var loaded []string
	if pods {
		loaded = append(loaded, "the cloud controller manager ("+program.name()+")")
	}
	if opts.CSI.Enabled && opts.CSI.Foreign == nil {
		loaded = append(loaded, "the CSI driver")
	}
	if len(loaded) > 0 {
		steps = append(steps, "load images of "+strings.Join(loaded, " and ")+" into the nodes")
	}
	for i, vc := range opts.Topology.Spec.VCenters {
		ip, err := c.ServiceIP(i)
		if err != nil {
			return nil, err
		}
		steps = append(steps, fmt.Sprintf("have pods reach vCenter %s as %s, %s", vc.Name, deploy.ServiceDNS(vc.Name), ip))
	}
	if pods {
		steps = append(steps, "deploy the cloud controller manager, and wait until it has initialized the nodes")
	} else {
		steps = append(steps, "run the cloud controller manager "+program.name()+" as a process of this machine, and wait until it has initialized the nodes")
	}
	if opts.CSI.Foreign != nil {
		steps = append(steps, "have the nodes ask this machine for images of the CSI driver"+opts.CSI.called()+" before they ask a registry")
	}
	if opts.CSI.Enabled {
		steps = append(steps, plannedVolumes(opts, k.Dir), "deploy the CSI driver"+opts.CSI.called()+", and wait until every node takes volumes")
	}
	return steps, nil
}
