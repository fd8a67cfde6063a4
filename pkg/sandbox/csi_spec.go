package sandbox

import (
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// csiSpec is one process of the driver's controller.
func (s *Sandbox) csiSpec(p csiProcess, socket, kubeconfig, clusterID string) child.Spec {
	spec := child.Spec{Name: p.name, Env: withoutProviderVariables(os.Environ())}
	if p.driver {
		spec.Args = []string{
			csiController,
			"--mode=controller",
			"--endpoint=unix://" + socket,
			"--config=" + s.cloudConfigFile(),
			"--kubeconfig=" + kubeconfig,
			"--cluster-id=" + clusterID,
		}
		if s.opts.Real != nil {
			spec.Args = append(spec.Args, realCallTimeout())
		}
		return s.components.Spec(spec)
	}
	spec = s.components.Spec(spec) // whose command is this binary's
	spec.Path = s.opts.CSI.Sidecars
	spec.Args = append([]string{p.name, "--kubeconfig=" + kubeconfig, "--kube-api-qps=200", "--kube-api-burst=400"}, s.csiFlags(p.name, socket)...)
	return spec
}

// csiFlags are those of a sidecar: upstream's manifests of vsphere-csi-driver, with topology on, and periods at the
// sandbox's pace. There is one of each, which nobody has to elect.
func (s *Sandbox) csiFlags(name, socket string) []string {
	of := func(p pace.Period) string { return s.opts.Speed.Of(p).String() }
	retries := []string{"--retry-interval-start=" + of(pace.CSIRetryStart), "--retry-interval-max=" + of(pace.CSIRetryMax)}
	if name == "snapshot-controller" {
		return retries // it knows no driver
	}
	flags := append([]string{"--csi-address=" + socket, "--timeout=300s"}, retries...)
	switch name {
	case "csi-provisioner":
		flags = append(flags, "--extra-create-metadata=true", "--default-fstype=ext4")
		if s.placed() { // it makes nothing for a node that is in no zone, otherwise
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

// placed tells whether any node of the topology is in a region or zone.
func (s *Sandbox) placed() bool {
	for _, ref := range s.opts.Topology.Nodes() {
		if p := s.opts.Topology.Place(ref); p.Region != "" || p.Zone != "" {
			return true
		}
	}
	return false
}
