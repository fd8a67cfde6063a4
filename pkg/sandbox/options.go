package sandbox

import (
	"errors"
	"log/slog"
	"net/url"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/boot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options say what sandbox to run. What is not called optional, and is neither a switch nor Port,
// Command or Progress, is mandatory.
type Options struct {
	Name     string
	Topology *topology.Topology
	// Real are real vCenters in place of simulated ones; Topology is then what [real.Options.Read] returned. Optional.
	Real  *real.Options
	Speed pace.Speed
	// Dir is the instance's directory, whose lock this process holds.
	Dir *instance.Dir
	// VCentersOnly leaves Kubernetes out: no cluster, no kubelets, no cloud controller manager.
	VCentersOnly bool
	// Cluster is the Kubernetes cluster; the zero value is a control plane in a process, and a kubelet in one for each VM.
	Cluster Cluster
	// Saved are inventories to load, as sim.Options has them. Optional.
	Saved []*sim.Saved
	// From is a snapshot to boot from, verified; Topology, Speed and CSI are its own. Optional, for a sandbox with simulated vCenters
	// and an embedded cluster.
	From *snapshot.Manifest
	// Snapshots is where the snapshots of the sandbox are. Empty: it has none.
	Snapshots snapshot.Folder
	// Settings are the flags that the user has set, for [snapshot.Manifest]. Optional.
	Settings map[string][]string
	// Place is where the vCenters, or what stands before real ones, listen. Optional.
	Place loopback.Place
	// Names are further names and addresses by which clients reach the vCenters, for their certificates. Optional.
	Names []string
	// Vcsim holds what vcsim's command line sets, as sim.Options has it. Optional.
	Vcsim sim.Vcsim
	// Login is the administrator of every vCenter, as sim.Options has it. Optional.
	Login *url.Userinfo
	// Light makes all nodes light, for Topology and for topologies that are applied later.
	Light bool
	// CCM is the cloud controller manager to run; the zero value is the built-in one.
	CCM CCM
	// CSI says what volumes there are; the zero value is none.
	CSI CSI
	// LoadBalancer is what serves Services of type LoadBalancer: one of the LoadBalancer values; "" for none.
	LoadBalancer string
	// Port of the API server; 0 takes a free one.
	Port int
	// Audit keeps the API server's audit log: who asked for what, without bodies.
	Audit bool
	// Trace is the file that gets every call to the vCenters with its bodies, without secrets. Optional.
	Trace string
	// ContainerURL returns where containers reach a vCenter, "" if they do not. Optional.
	ContainerURL func(vcenter string) string
	Logger       *slog.Logger
	// Command prefixes the arguments of the children ("builtin-ccm" …); nil means none. It lets a test binary stand in
	// for the real one.
	Command []string
	// Progress is called with the current activity, each time it changes. It must not block.
	Progress func(Progress)
}

// What serves Services of type LoadBalancer.
const (
	// LoadBalancerSimple gives them loopback addresses of this machine, on grounds whose cluster was made for the sandbox.
	LoadBalancerSimple = "simple"
	// LoadBalancerNSX has the cloud controller manager give them addresses of the NSX Manager of the topology. Those that are loopback
	// addresses answer. It takes an embedded cluster or kind.
	LoadBalancerNSX = "nsx"
	// LoadBalancerNone leaves them pending, with an Event.
	LoadBalancerNone = "none"
)

// Progress is the step that a boot or a stop has reached.
type Progress = boot.Progress

// check refuses options that do not go together.
func (o *Options) check() error {
	c := o.CCM.WithDefaults()
	switch {
	case o.Cluster.Existing != nil && o.Real == nil:
		return errors.New("the nodes of an existing cluster are VMs of real vCenters, and none are configured")
	case o.Cluster.Existing != nil && o.CSI.Enabled:
		return errors.New("an existing cluster gets no CSI driver: its volumes are its own")
	case o.Cluster.InCluster == nil:
		return nil
	case c.Program.Path != "" || len(c.Manifest) > 0 || c.Watch != "":
		return errors.New("a shared cluster gets the built-in cloud controller manager: others delete nodes that they do not find in a vCenter")
	case o.CSI.Enabled:
		return errors.New("light nodes take no volumes, and other nodes of the cluster are no VMs: it gets no CSI driver")
	case o.Real != nil:
		return errors.New("real vCenters have no sandbox in a cluster")
	}
	return nil
}

// CSI chooses the CSI driver of the sandbox. The zero value is none.
type CSI struct {
	// Enabled: a CSI driver runs with the stock sidecars, and every Node serves its volumes.
	Enabled bool
	// Sidecars is the program of the sidecars, cmd/csi-sidecars.
	Sidecars string
	// Foreign replaces the built-in driver where it runs as pods; nil for the built-in one.
	Foreign *kind.ForeignCSI
	// Options choose the driver where it runs as processes.
	Options csi.Options
}
