package up

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// combine decides which options go together. It sets what follows from others and refuses what excludes others. It reads flags
// alone; changed reports whether the user has set a flag, from is the scenario or file that the user has named, "" for none.
func (o *options) combine(changed func(flag string) bool, from string) error {
	isReal := o.realFlags.Asked()
	o.ground.Watches = isReal && o.ground.Cluster == ground.Existing
	if isReal || o.ground.InCluster() || o.ccm.None() || o.ground.Watches {
		if !changed("csi") { // there is no write scope for volumes, no node that takes them, no vsphere.conf
			o.csi.Driver = csi.Off
		}
	}
	if isReal {
		if err := o.combineReal(from); err != nil {
			return err
		}
	}
	switch {
	case o.ground.Watches:
		if err := o.combineExisting(changed); err != nil {
			return err
		}
	case o.ground.InCluster():
		if err := o.combineInCluster(changed); err != nil {
			return err
		}
	}
	if o.ccm.None() && o.csi.Driver != csi.Off {
		return report.UsageError("vsphere-sandbox up --ccm none --csi off", "--ccm none: there is no vsphere.conf for a CSI driver then")
	}
	if o.audit && o.ground.Cluster == ground.Kind {
		return report.UsageError("--kind-config FILE, with an audit policy for kubeadm in it", "--audit is for --cluster embedded: kind's API server keeps none")
	}
	return nil
}

// combineReal is for real vCenters, which take the place of a scenario or file.
func (o *options) combineReal(from string) error {
	switch {
	case from != "":
		return report.UsageError("vsphere-sandbox up --vcenter-config FILE", "%s: real vCenters are what they are: no scenario and no topology goes with --vcenter-config", from)
	case len(o.set) > 0:
		return report.UsageError("vsphere-sandbox up --vcenter-config FILE", "--set is about the parameters of a topology: no topology goes with --vcenter-config")
	case o.ground.Cluster == ground.Kind && o.csi.Driver != csi.Off:
		return report.UsageError("--csi off, or --cluster kind without --vcenter-config",
			"--csi %s: the disks of a real VM are not in the container that is its node", o.csi.Driver)
	}
	return nil
}

// combineExisting is for a sandbox whose nodes are those of a cluster that is there, and whose VMs are those of real vCenters: it
// is a process of this machine, and only watches unless a cloud controller manager is named.
func (o *options) combineExisting(changed func(string) bool) error {
	if o.csi.Driver != csi.Off {
		return report.UsageError("leave --csi out", "--csi %s: the volumes of a real cluster are its own: it gets no CSI driver of a sandbox", o.csi.Driver)
	}
	for _, no := range []struct{ flag, why string }{
		{"image", "nothing of the sandbox runs as a pod there"},
		{"light", "its nodes are real ones, and none are light"},
		{"light-shards", "its nodes are real ones, and none are light"},
		{"beside-unowned-nodes", "a node is matched with its VM whether it has a providerID or not"},
		{"nodes", "which VMs are nodes is what the cluster says"},
		{"control-plane", "which nodes are the control plane is what the cluster says"},
		{"api-port", "the API server is not the sandbox's"},
		{"audit", "the API server is not the sandbox's"},
	} {
		// A process that was detached gets all of the last ones.
		if changed(no.flag) && !o.detached {
			return report.UsageError("leave --"+no.flag+" out", "--%s, with --cluster existing and --vcenter-config: %s", no.flag, no.why)
		}
	}
	if !changed("speed") {
		o.speed = 1
	}
	if o.speed != 1 {
		return report.UsageError("leave --speed out", "--speed %g: a real cluster lives at its own pace, which is 1", o.speed)
	}
	if o.ccm.Source != "" || o.ccm.Watch != "" {
		return nil
	}
	for _, about := range []string{"ccm-arg", "ccm-env", "ccm-replicas", "ccm-manifest"} {
		if changed(about) {
			return report.UsageError("--ccm builtin", "--%s: in a real cluster no cloud controller manager is started unless --ccm or --ccm-watch says which", about)
		}
	}
	o.ccm.Source = ccm.None // one would change the nodes of a cluster that is in use
	return nil
}

// combineInCluster is for a sandbox in the pods of a cluster that has other users.
func (o *options) combineInCluster(changed func(string) bool) error {
	if o.realFlags.Asked() { // of a pod
		return report.UsageError("vsphere-sandbox up --cluster existing --vcenter-config FILE   # from outside of the cluster",
			"--cluster %s and --vcenter-config exclude each other: real vCenters have no sandbox in a cluster", o.ground.Cluster)
	}
	if o.csi.Driver != csi.Off {
		return report.UsageError("--cluster kind --csi builtin", "--csi %s: there, nodes are light ones, which take no volumes", o.csi.Driver)
	}
	if c := o.ccm; c.Source != "" && c.Source != "builtin" || c.Watch != "" || c.Manifest != "" || len(c.Env) > 0 {
		return report.UsageError("--cluster kind --ccm "+c.Source,
			"--cluster %s: it gets the built-in cloud controller manager and no other: upstream's deletes the Nodes of others, whose VMs it does not find", o.ground.Cluster)
	}
	for _, none := range []string{"api-port", "audit", "retain"} {
		if changed(none) && o.ground.Installs() && !o.detached {
			return report.UsageError("leave --"+none+" out", "--%s: the API server is not the sandbox's, and nothing is kept there", none)
		}
	}
	if changed("vcenter-port") {
		return report.UsageError("leave --vcenter-port out", "--vcenter-port: the vCenters run in their own pod there, where the port is always free")
	}
	return nil
}
