package sandbox

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/incluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
)

// Cluster chooses the Kubernetes cluster of a sandbox, by the options of one ground. The zero value is an embedded one, in
// processes.
type Cluster struct {
	// Kind has kind make it.
	Kind *kind.Options
	// InCluster is the pod that this process is: then the cluster is the one that it is a pod of.
	InCluster *incluster.Options
	// Existing is one that was there before, with nodes that are VMs of [Options.Real]. This process watches it, and has a cloud
	// controller manager work on it if [CCM.None] is not set.
	Existing *existing.Options
}
