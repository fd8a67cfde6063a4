// Package existing installs a sandbox in a Kubernetes cluster of the user: as pods, from the Helm chart in
// charts/vsphere-sandbox.
//
//	c, err := existing.Open(existing.Target{Context: "lab"}, dir)
//	_, err = c.Reach(ctx)                                        // within seconds, or why not
//	err = c.Guard(ctx, existing.Intent{Name: "mine", VMs: vms}) // the cluster's nodes and volumes are safe
//	objects, err := existing.Objects(chart.Files(), existing.ReleaseOf("mine"), values)
//	err = c.CheckRights(ctx, objects)
//	err = c.Install(ctx, "mine", feed, objects)
//	pod, err := c.Pod(ctx, "mine", say)
//	conn, err := c.Tunnel("mine").Dial(ctx, existing.ControlPort)
//	err = c.Remove(ctx, "mine", say)
//
// It has two sides. The one on the user's host checks the cluster, installs, connects to the pod and removes everything
// again; the one in the pod ([InCluster], [Expose]) is the cluster of the sandbox there.
//
// A sandbox can also run outside of the cluster (beside.go): as a process on the user's host that watches the cluster's
// own nodes, and may run a cloud controller manager for them.
//
// All its objects have labels, and it changes and removes no others. The cloud controller manager sees the
// cluster's own Nodes, but must not act on them: [Cluster.Guard] rejects a cluster where it might.
//
// Floor 2: of this module it imports pkg/cluster.
package existing
