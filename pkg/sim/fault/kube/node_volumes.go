package kube

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Optional abilities of a ground's processes, for nodes with volumes.
type (
	linker interface {
		WithholdLinks(component string, withheld bool) error
	}
	registrar interface {
		RegisterCSI(component string, registered bool) error
	}
)

func linkWithheld() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.link-withheld", Object: fault.Node, Needs: []fault.Need{fault.Kubelets}, Touches: "links", Component: kubeletOf,
		Short: "has disks that nodes are given not appear under /dev/disk/by-id",
		Long: "As in a VM that was made without disk.EnableUUID: the volume is attached, vCenter and Kubernetes say so, and the node service looks for the disk in vain. " +
			"The pod stays in ContainerCreating. Disks that were there before stay. Healing has them all appear.",
		Reported: []string{"vsphere-csi-driver#27", "vsphere-csi-driver#92", "vsphere-csi-driver#943", "vsphere-csi-driver#1787", "vsphere-csi-driver#2954"},
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, _ string, err error) {
			_, err = able[linker](c, "no component shows disks to guests here")
			return s, "show it no further disk", err
		},
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return c.Ground.Processes.(linker).WithholdLinks(kubelet(c), true) // checked by Plan
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			p, ok := c.Ground.Processes.(linker)
			if !ok {
				return nil
			}
			defer causing(c, kubelet(c))()
			return still(c, kubelet(c), p.WithholdLinks(kubelet(c), false))
		},
	})
}

func csiUnregistered() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.csi-unregistered", Object: fault.Node, Needs: []fault.Need{fault.Kubelets}, Touches: "csi-registration", Component: kubeletOf,
		Short: "takes the CSI driver's registration socket away from kubelets",
		Long: "As when the driver's DaemonSet is deleted or its registrar dies: the kubelet drops the driver from its CSINode, and pods with volumes that come to the node stay in " +
			"ContainerCreating, \"driver name csi.vsphere.vmware.com not found in the list of registered CSI drivers\". Pods that run do not notice. Healing puts the socket " +
			"back, and the driver is registered again.",
		Reported: []string{"vsphere-csi-driver#1661", "vsphere-csi-driver#2284"},
	}, fault.Steps[nothing]{
		Plan: func(_ context.Context, c *fault.Call) (s nothing, _ string, err error) {
			if _, err = able[registrar](c, "the sandbox has no hand in the nodes' sockets"); err == nil {
				err = running(c, kubelet(c))
			}
			return s, "remove the socket that announces its CSI node service", err
		},
		Apply: func(_ context.Context, c *fault.Call, _ *nothing) error {
			defer causing(c, kubelet(c))()
			return c.Ground.Processes.(registrar).RegisterCSI(kubelet(c), false) // checked by Plan
		},
		Revert: func(_ context.Context, c *fault.Call, _ *nothing) error {
			p, ok := c.Ground.Processes.(registrar)
			if !ok {
				return nil
			}
			defer causing(c, kubelet(c))()
			return still(c, kubelet(c), p.RegisterCSI(kubelet(c), true))
		},
	})
}

// able returns the ground's processes as P. It refuses if they lack it, or if the target has no kubelet.
func able[P any](c *fault.Call, otherwise string) (p P, err error) {
	p, ok := c.Ground.Processes.(P)
	switch {
	case !ok:
		return p, &fault.Refusal{Code: "unsupported", Message: otherwise}
	case c.Ground.Processes.Replicas(kubelet(c)) == 0:
		return p, fault.Refuse("node %q: the sandbox runs no kubelet for it now", c.Target.Name)
	}
	return p, nil
}
