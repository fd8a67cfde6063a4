// Package node is CSI's Node service: it makes a disk that was attached to this machine's VM into a mounted file system or
// a raw device at the path that kubelet asks for.
//
// [Server] is the service: it checks requests, lets one call at a time work on a volume, bounds every wait, and gives
// each failure its code. What is done to a volume is a [Backend]'s:
//
//	device   block devices below /dev/disk/by-id, mkfs and mount(2): real nodes, kind
//	dir      a directory for each volume, bind mounts when root: nodes without devices
//	hollow   disk directories that a simulated VM has attached: hollow nodes, unprivileged
//
// [Start] puts the service on its socket and announces it to kubelet.
//
// It differs from upstream's node plugin on purpose: it waits for a disk that is attached but not seen yet, it never ends
// the process because something is missing, and what it cannot know yet (topology) it says is unavailable, so that
// kubelet asks again.
//
// Floor 1: it knows no vCenter and no Kubernetes API but kubelet's registration of plugins.
package node
