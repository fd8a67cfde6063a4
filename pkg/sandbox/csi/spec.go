package csi

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// spec returns the spec of a process of the driver's controller.
func (d *Driver) spec(p process, socket, kubeconfig, clusterID string) child.Spec {
	spec := child.Spec{Name: p.name, Env: d.Env()}
	if p.driver {
		spec.Args = []string{
			controller,
			"--mode=controller",
			"--endpoint=unix://" + socket,
			"--config=" + d.CloudConfig,
			"--kubeconfig=" + kubeconfig,
			"--cluster-id=" + clusterID,
			"--full-sync-period=" + d.Speed.Of(pace.CSIFullSync).String(),
		}
		spec.Args = append(spec.Args, d.Args...)
		return d.Components.Spec(spec)
	}
	spec = d.Components.Spec(spec) // whose command is this binary's
	spec.Path = d.Sidecars
	spec.Args = append([]string{p.name, "--kubeconfig=" + kubeconfig, "--kube-api-qps=200", "--kube-api-burst=400"}, d.flags(p.name, socket)...)
	return spec
}

// flags returns the flags of a sidecar: those of vsphere-csi-driver's manifests, with topology on and periods at the speed of
// the sandbox. There is one process of each, so that leader election is off.
func (d *Driver) flags(name, socket string) []string {
	of := func(p pace.Period) string { return d.Speed.Of(p).String() }
	retries := []string{"--retry-interval-start=" + of(pace.CSIRetryStart), "--retry-interval-max=" + of(pace.CSIRetryMax)}
	if name == "snapshot-controller" {
		return retries // it knows no driver
	}
	flags := append([]string{"--csi-address=" + socket, "--timeout=300s"}, retries...)
	switch name {
	case "csi-provisioner":
		flags = append(flags, "--extra-create-metadata=true", "--default-fstype=ext4")
		if d.Topology.Zoned() { // without zones it would make no volume for a node
			flags = append(flags, "--feature-gates=Topology=true", "--strict-topology=true")
		} else {
			flags = append(flags, "--feature-gates=Topology=false")
		}
	case "csi-attacher":
		flags = append(flags, "--worker-threads=100", "--reconcile-sync="+of(pace.CSIReconcile))
	case "csi-resizer":
		flags = append(flags, "--handle-volume-inuse-error=false")
	case "csi-snapshotter":
		flags = append(flags, "--extra-create-metadata=true")
	}
	return flags
}
