package sandbox

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// base is what the Kubernetes cluster of a sandbox stands on. Its methods are called by one boot step after the other.
type base interface {
	// component is what the thing that takes the time to start is called.
	component() string
	// start begins to bring the cluster up; await returns when its API server serves, and [Sandbox.cluster] is set by then.
	start(context.Context) error
	await(context.Context) error
	// patient: start and await know themselves when to give up.
	patient() bool
	// stop takes down what start brought up, also half-way.
	stop(context.Context) error
	// guest is what stands for a VM that is a node. Its caller holds the lock of the nodes.
	guest(*machine) node.Guest
	// podded: the cloud controller manager and the CSI driver run as pods.
	podded() bool
	// waitVolumes returns when nodes take volumes.
	waitVolumes(context.Context) error
	// volumes are how nodes make a volume of a disk, where the CSI driver runs as pods.
	volumes() podVolumes
	// guests show the disks of a vCenter's VMs to what runs in them; nil: nothing there has block devices.
	guests(vcenter string) cns.Guests
	// names are further names and addresses by which clients in the cluster reach a vCenter.
	names(vcenter string) []string
}

// newBase chooses by the options.
func (s *Sandbox) newBase() base {
	if s.opts.Cluster.Kind != nil {
		return &kindCluster{s: s}
	}
	if s.opts.Cluster.Pod != nil {
		return &podCluster{s: s}
	}
	if s.opts.Cluster.Theirs != nil {
		return &theirCluster{s: s}
	}
	return ownControlPlane{s}
}

// podVolumes are the fields of deploy.CSI that a ground decides.
type podVolumes struct{ backend, dir, serial string }

// ownControlPlane is a control plane in a process, with a kubelet in a process for each VM.
type ownControlPlane struct{ s *Sandbox }

func (ownControlPlane) component() string                       { return "control plane" }
func (o ownControlPlane) start(ctx context.Context) error       { return o.s.startControlPlane(ctx) }
func (o ownControlPlane) await(ctx context.Context) error       { return o.s.waitControlPlane(ctx) }
func (ownControlPlane) patient() bool                           { return false }
func (o ownControlPlane) stop(ctx context.Context) error        { return o.s.stopControlPlane(ctx) }
func (ownControlPlane) podded() bool                            { return false }
func (o ownControlPlane) waitVolumes(ctx context.Context) error { return o.s.waitCSI(ctx) }

// guest is a process for each VM, or one for all that are light.
func (o ownControlPlane) guest(m *machine) node.Guest {
	if o.s.light.has(m.vm) {
		return o.s.light.guest(m)
	}
	return o.s.nodes.hollow(m)
}

func (ownControlPlane) volumes() podVolumes      { return podVolumes{} }
func (ownControlPlane) guests(string) cns.Guests { return nil }
func (ownControlPlane) names(string) []string    { return nil }
