package kind

// Label is what kind has put on the cluster's containers: by it they are found, and followed.
func (c *Cluster) Label() (key, value string) { return clusterLabel, c.Name() }

// SerialFile is the file in every node that is a VM that has the VM's serial number, also where the machine has no firmware
// to show it.
const SerialFile = serialPath
