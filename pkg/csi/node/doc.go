// Package node implements the CSI Node service: it mounts an attached disk, or makes it available as a raw device, at the path
// from kubelet.
//
// [Server] is the service. It validates requests, runs one call at a time for a volume, bounds every wait, and maps failures to
// gRPC codes. A [Backend] handles the volumes:
//
//	device   block devices in /dev/disk/by-id, mkfs and mount(2): real nodes, kind
//	dir      a directory for each volume, bind mounts if root: nodes without block devices
//	hollow   disk directories of a simulated VM: hollow nodes, unprivileged
//
// [Start] runs the service on its socket and registers it with kubelet.
//
// It differs from upstream's node plugin on purpose. It waits for an attached disk to appear, never ends the process because
// something is missing, and returns Unavailable for an unknown topology, so that kubelet retries.
//
// Floor 1: it uses no vCenter, and no Kubernetes API except kubelet's plugin registration.
package node
