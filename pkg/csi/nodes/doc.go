// Package nodes maps the cluster's nodes to virtual machines and finds datastores for their volumes. It implements
// [volume.Nodes].
//
// It keeps an inventory of each vCenter with one property watch: VMs by BIOS UUID, the objects above them, hosts, datastores,
// and which host mounts which; and the tags of the configured categories, which are read again after an event that one was
// attached or detached. Lookups use the inventory. A vCenter is queried directly only for a node that no inventory has, and for
// storage policies.
//
//	n, err := nodes.New(nodes.Config{Cluster: cluster, VCenters: []nodes.VCenter{{Client: client}}, Categories: …})
//	go n.Run(ctx)
//	node, err := n.Node(ctx, "42010a3b-1c2d-4e5f-8071-92a3b4c5d6e7")
//
// # Segments
//
// A node's segment is, for each category separately, the tag on the nearest object above its VM's host: the host, its cluster,
// folders, the datacenter, up to the root. Upstream's driver stops there. If none of them has a tag of the category, the path
// up from the VM's resource pool is searched and then the path from the VM over its folders, as in the cloud controller
// manager of this module, so that both compute the same zone.
//
// # Reach
//
// A volume can be in a segment if its datastore is mounted on every host there, as upstream's driver requires
// (pkg/csi/service/common/placementengine), so that DRS may move a node within its segment. A host without nodes that is
// disconnected or in maintenance mode does not count. Without topology, the hosts of all nodes must mount the datastore.
//
// The package attaches and creates nothing, and does not run the connections: the caller runs the clients.
//
// Floor 1: it imports nothing of this module but its siblings names and volume, and pkg/provider's vcenter and inventory.
package nodes
