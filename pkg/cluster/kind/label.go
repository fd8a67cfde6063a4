package kind

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"

// Label is what kind has put on the cluster's containers: by it they are found, and followed.
func (c *Cluster) Label() (key, value string) { return clusterLabel, c.Name() }

// Listing is the command by which a person sees the containers of a sandbox's cluster.
func Listing(rt *runtime.Runtime, sandbox string) string {
	return rt.Name() + " ps --all --filter label=" + clusterLabel + "=" + ClusterName(sandbox)
}

// SerialFile is the file in every node that is a VM that has the VM's serial number, also where the machine has no firmware
// to show it.
const SerialFile = serialPath
