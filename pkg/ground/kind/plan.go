package kind

import (
	"context"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/nodeimage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Plan is what a boot would do: the configuration that kind would be given, and the steps in words. Nothing is made, and Host and
// Log are not used. A container runtime is asked what node images it has, if one answers, but it need not.
func Plan(ctx context.Context, c Config) (config []byte, steps []string, err error) {
	rt, err := kind.Detect(ctx)
	if err != nil { // what it would run with is found out by the boot
		rt = nil
	}
	g := New(c)
	g.rt, g.folders = rt, g.plannedFolders()
	image := c.Image
	if image == "" {
		image = plannedImage(ctx, rt)
	}
	k, err := g.options(image)
	if err != nil {
		return nil, nil, err
	}
	if config, steps, err = kind.Plan(k); err != nil {
		return nil, nil, err
	}
	more, err := g.podSteps(k)
	return config, append(steps, more...), err
}

// plannedFolders returns where directories for volumes will be; "" if only a boot can find out.
func (g *Ground) plannedFolders() string {
	if !g.CSI || g.Volumes != VolumesDir {
		return ""
	}
	return foldersOf(g.Dir)
}

// plannedVolumes is the step that says what volumes are.
func (g *Ground) plannedVolumes() string {
	folders := foldersOf(g.Dir)
	switch g.Volumes {
	case VolumesDir:
		return "have volumes be directories, in " + folders
	case VolumesDevice:
		return "have volumes be block devices, of loop devices of this machine"
	}
	return "have volumes be block devices, of loop devices of this machine; where those are refused, directories in " + folders + ", which nodes have mounted then"
}

// plannedImage is the node image that a boot would find, as far as can be said without fetching one.
func plannedImage(ctx context.Context, rt *runtime.Runtime) string {
	official := nodeimage.Official + ":" + release.Kind()
	if rt == nil {
		return official
	}
	all, err := nodeimage.Finder{Store: images.Store{Runtime: rt}, Kubernetes: release.Kind()}.List(ctx)
	if err != nil || len(all) == 0 {
		return official
	}
	return all[0].Name
}

// podSteps are what comes when kind is done.
func (g *Ground) podSteps(k kind.Options) (steps []string, err error) {
	c, err := kind.New(k)
	if err != nil {
		return nil, err
	}
	var loaded []string
	if g.CCM.Pods {
		loaded = append(loaded, "the cloud controller manager ("+g.CCM.Name+")")
	}
	if g.CSI && g.Foreign == nil {
		loaded = append(loaded, "the CSI driver")
	}
	if len(loaded) > 0 {
		steps = append(steps, "load images of "+strings.Join(loaded, " and ")+" into the nodes")
	}
	for i, vc := range g.Topology.Spec.VCenters {
		ip, err := c.ServiceIP(i)
		if err != nil {
			return nil, err
		}
		steps = append(steps, fmt.Sprintf("have pods reach vCenter %s as %s, %s", vc.Name, deploy.ServiceDNS(vc.Name), ip))
	}
	if g.CCM.Pods {
		steps = append(steps, "deploy the cloud controller manager, and wait until it has initialized the nodes")
	} else {
		steps = append(steps, "run the cloud controller manager "+g.CCM.Name+" as a process of this machine, and wait until it has initialized the nodes")
	}
	if g.Foreign != nil {
		steps = append(steps, "have the nodes ask this machine for images of the CSI driver"+g.Foreign.called()+" before they ask a registry")
	}
	if g.CSI {
		steps = append(steps, g.plannedVolumes(), "deploy the CSI driver"+g.Foreign.called()+", and wait until every node takes volumes")
	}
	return steps, nil
}
