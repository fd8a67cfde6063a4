// Package nodes knows the cluster's nodes as virtual machines, and where volumes for them may lie: it implements
// [volume.Nodes].
//
// It keeps a picture of each vCenter with one property watch: VMs by BIOS UUID, what lies above them, hosts, datastores
// and which host mounts which; and of the tags of the configured categories, which are read again when an event tells
// that one was attached or detached. Questions are answered from there. A vCenter is asked about a node directly only
// when no picture has it, and about storage policies.
//
//	n, err := nodes.New(nodes.Config{Cluster: cluster, VCenters: []nodes.VCenter{{Client: client}}, Categories: …})
//	go n.Run(ctx)
//	node, err := n.Node(ctx, "42010a3b-1c2d-4e5f-8071-92a3b4c5d6e7")
//
// # Segments
//
// A node's segment is, for each category by itself, the tag on the nearest object above its VM's host: the host, its
// cluster, folders, the datacenter, up to the root. Upstream's driver looks no further. Where a category is on none of
// them, the way up from the VM's resource pool counts and then the one from the VM itself over its folders, as in the
// cloud controller manager of this module, so that a node's zone is one thing to both.
//
// # Reach
//
// A volume can be in a segment when all nodes there are reached by its datastore: when it is mounted on the hosts that
// their VMs are on. Hosts without a node do not count. Upstream's driver (pkg/csi/service/common/placementengine) asks it of
// all hosts that the segment's tags are above, which keeps a datastore out because of a host that no node is on, and so
// has no answer in a cluster where only some hosts see the storage. The price: DRS may move a node whose volume is
// detached to a host of the same zone that does not mount its datastore. The attachment fails then, and says so, until
// the VM is moved back; where that can happen, a rule of the compute cluster has to keep nodes on hosts that mount the same.
//
// What this package does not do: it attaches nothing, creates nothing, and holds no connection. Clients are run by whoever
// made them.
//
// Floor 1: it imports nothing of this module but its siblings names and volume, and pkg/provider's vcenter and inventory.
package nodes
