// Package existing is a Kubernetes cluster that was there before, as the ground of a sandbox that runs in it: as pods, of the
// Helm chart in charts/vsphere-sandbox.
//
//	c, err := existing.Open(existing.Target{Context: "lab"}, dir)
//	_, err = c.Reach(ctx)                                        // within seconds, or why not
//	err = c.Guard(ctx, existing.Intent{Name: "mine", VMs: vms}) // nobody comes to harm
//	objects, err := existing.Objects(chart.Files(), existing.ReleaseOf("mine"), values)
//	err = c.CheckRights(ctx, objects)
//	err = c.Install(ctx, "mine", feed, objects)
//	pod, err := c.Pod(ctx, "mine", say)
//	conn, err := c.Tunnel("mine").Dial(ctx, existing.ControlPort)
//	err = c.Remove(ctx, "mine", say)
//
// It is two sides. The one on the user's machine checks the cluster, installs, leads to the pod and removes everything again;
// the one in the pod ([InCluster], [Expose]) is the cluster of the sandbox there.
//
// A sandbox can also stand beside the cluster (beside.go): as a process of the user's machine, which watches the cluster's own nodes
// and may run a cloud controller manager for them.
//
// Everything that is made can be told by its labels (labels.go), and nothing else is changed or removed: not the cluster's
// own Nodes, which the cloud controller manager sees and concludes nothing of. A cluster where it might conclude something is
// refused ([Cluster.Guard]).
//
// Floor 2: of this module it imports pkg/cluster.
package existing
