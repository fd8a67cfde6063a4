package csi

import (
	"fmt"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

// features is the ConfigMap with the switches of upstream's driver.
const features = "internal-feature-states.csi.vsphere.vmware.com"

// Command is the command of this program that runs the built-in driver's controller.
const Command = "csi-controller"

// spec returns the spec of a process of the driver's controller.
func (d *Driver) spec(p process, o Options, socket, clusterID string) child.Spec {
	spec := child.Spec{Name: p.name, Env: d.Env()}
	kubeconfig := d.kubeconfigPath(p)
	switch {
	case p.part == "":
		spec = d.Components.Spec(spec) // whose command is this binary's
		spec.Path = d.Sidecars
		spec.Args = append([]string{p.program, "--kubeconfig=" + kubeconfig, "--kube-api-qps=200", "--kube-api-burst=400"}, d.flags(p.program, socket, o.foreign())...)
		spec.Args = append(spec.Args, d.electing(p, o)...)
		spec.Env = append(spec.Env, "NAMESPACE="+objects.DefaultNamespace) // of CSIStorageCapacity objects
		return spec
	case o.Program.Own:
		spec.Path = o.Program.Path
		if spec.Path == "" {
			spec.Args = []string{Command}
		}
		spec.Args = append(spec.Args,
			"--mode=controller",
			"--endpoint=unix://"+socket,
			"--config="+d.configFile(o),
			"--kubeconfig="+kubeconfig,
			"--cluster-id="+clusterID,
			"--full-sync-period="+d.Speed.Of(pace.CSIFullSync).String(),
			"--volume-health-period="+d.Speed.Of(pace.CSIVolumeHealth).String(),
		)
		spec.Args = append(append(spec.Args, d.electing(p, o)...), d.Args...)
	default:
		spec.Path = o.Program.Path
		if p.part != partController {
			spec.Path = o.Syncer.Path
		}
		spec.Args = []string{"--fss-name=" + features, "--fss-namespace=" + objects.DefaultNamespace}
		if p.part == partWebhook {
			spec.Args = append(spec.Args, "--operation-mode=WEBHOOK_SERVER")
			spec.Env = append(spec.Env, "WEBHOOK_CONFIG_PATH="+webhookConfig(d.dir(webhook)), "CSI_NAMESPACE="+objects.DefaultNamespace, "LOGGER_LEVEL=PRODUCTION", "KUBECONFIG="+kubeconfig)
		} else {
			spec.Env = append(spec.Env, d.upstreamEnv(o, socket, kubeconfig)...)
		}
	}
	if p.part == partController {
		spec.Args = append(spec.Args, o.Args...)
	}
	if d.asGuest(o) {
		spec = d.inGuest(spec, o)
	}
	spec.Env = append(spec.Env, o.Env...)
	return d.Components.Spec(spec)
}

// electing returns the flags of the election of a leader.
func (d *Driver) electing(p process, o Options) []string {
	if !o.elects() {
		return nil
	}
	lease, renew, retry := d.Speed.Lease()
	return []string{
		"--leader-election", "--leader-election-namespace=" + objects.DefaultNamespace, "--leader-election-identity=" + p.name,
		"--leader-election-lease-duration=" + lease.String(), "--leader-election-renew-deadline=" + renew.String(),
		"--leader-election-retry-period=" + retry.String(),
	}
}

// upstreamEnv returns the environment of upstream's manifests, for a process of this host. Full syncs are a minute apart at least.
func (d *Driver) upstreamEnv(o Options, socket, kubeconfig string) []string {
	sync := max(1, int(d.Speed.Of(pace.CSIFullSync).Minutes()))
	return []string{
		"X_CSI_MODE=controller", "CSI_ENDPOINT=unix://" + socket, "VSPHERE_CSI_CONFIG=" + d.configFile(o), "CSI_NAMESPACE=" + objects.DefaultNamespace,
		"X_CSI_SPEC_DISABLE_LEN_CHECK=true", "X_CSI_SERIAL_VOL_ACCESS_TIMEOUT=3m", "KUBECONFIG=" + kubeconfig, "LOGGER_LEVEL=PRODUCTION",
		"INCLUSTER_CLIENT_QPS=100", "INCLUSTER_CLIENT_BURST=100", "FULL_SYNC_INTERVAL_MINUTES=" + strconv.Itoa(sync),
	}
}

// flags returns the flags of a sidecar: those of vsphere-csi-driver's manifests, with topology on and periods at the speed of
// the sandbox. Upstream's driver refuses the names of PersistentVolume and
// claim as parameters of a volume, which a foreign driver therefore does not get.
func (d *Driver) flags(name, socket string, foreign bool) []string {
	of := func(p pace.Period) string { return d.Speed.Of(p).String() }
	retries := []string{"--retry-interval-start=" + of(pace.CSIRetryStart), "--retry-interval-max=" + of(pace.CSIRetryMax)}
	if name == "snapshot-controller" {
		return retries // it knows no driver
	}
	flags := append([]string{"--csi-address=" + socket, "--timeout=300s"}, retries...)
	switch name {
	case "csi-provisioner":
		flags = append(flags, fmt.Sprintf("--extra-create-metadata=%t", !foreign), "--default-fstype=ext4")
		if d.Topology.Zoned() { // without zones it would make no volume for a node
			flags = append(flags, "--feature-gates=Topology=true", "--strict-topology=true")
			if !foreign {
				flags = append(flags, "--enable-capacity", "--capacity-poll-interval="+of(pace.CSIReconcile))
			}
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
