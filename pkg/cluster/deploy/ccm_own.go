package deploy

import (
	"context"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// Names in manifests/ccm.
const (
	ccmName      = "vsphere-cloud-controller-manager"
	ccmNamespace = "kube-system"
	ccmNameLabel = "app.kubernetes.io/name"
	// ccmPort is where the first of a node serves its health, moreCCMPorts where the others do: the ports between are the
	// CSI driver's.
	ccmPort      = 10267
	moreCCMPorts = 10270
)

// configPoll is how often the cloud controller manager looks at its file: its kubelet has let it wait long enough.
const configPoll = 500 * time.Millisecond

func ownCCMLayout() layout {
	return layout{
		Place: Place{
			File: "/etc/cloud/vsphere.conf", CAFile: "/etc/cloud/" + caKey,
			SecretName: "vsphere-cloud-secret", SecretNamespace: ccmNamespace,
		},
		holder: "vsphere-cloud-config", holderNamespace: ccmNamespace, key: "vsphere.conf",
	}
}

// ownCCM applies the sandbox's own, and returns what it consists of.
func (d *Deployment) ownCCM(ctx context.Context, c CCM) ([]*unstructured.Unstructured, error) {
	nodes, err := 1, error(nil)
	if d.at == nil {
		nodes, err = d.showsControlPlane(ctx)
	}
	if err != nil {
		return nil, err
	}
	all, err := d.renderCCM(c, nodes)
	if err != nil {
		return nil, err
	}
	l := ownCCMLayout()
	files := contentsOf(l)
	for _, f := range files {
		mark(f, partCCM)
	}
	if _, err := d.claim(ctx, append(files, all...)); err != nil {
		return nil, err
	}
	if err := d.write(ctx, l, c.Config, partCCM); err != nil {
		return nil, err
	}
	return append(all, files...), d.install(ctx, all)
}

// contentsOf names the objects that hold a configuration, without what is in them.
func contentsOf(l layout) []*unstructured.Unstructured {
	kind := "ConfigMap"
	if l.holderIsSecret {
		kind = "Secret"
	}
	all := []*unstructured.Unstructured{bare("v1", kind, l.holderNamespace, l.holder)}
	if l.SecretName != "" && !(l.holderIsSecret && l.SecretName == l.holder) {
		all = append(all, bare("v1", "Secret", l.SecretNamespace, l.SecretName))
	}
	return all
}

func bare(version, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	o.SetName(name)
	if namespace != "" {
		o.SetNamespace(namespace)
	}
	return o
}

// renderCCM is manifests/ccm for a sandbox: its image, its pace, its labels; without the configuration, whose content is
// no manifest's. controlPlanes is how many nodes of the control plane there are.
func (d *Deployment) renderCCM(c CCM, controlPlanes int) ([]*unstructured.Unstructured, error) {
	all, err := own("ccm/rbac.yaml")
	if err != nil {
		return nil, err
	}
	replicas := max(c.Replicas, 1)
	elect := replicas*max(controlPlanes, 1) > 1 || controlPlanes == 0
	for i := range replicas {
		sets, err := own("ccm/daemonset.yaml")
		if err != nil {
			return nil, err
		}
		for _, o := range sets {
			if err := asDaemonSet(o, func(set *appsv1.DaemonSet) { d.patchCCM(set, c, i, elect, controlPlanes == 0) }); err != nil {
				return nil, err
			}
		}
		all = append(all, sets...)
	}
	for _, o := range all {
		mark(o, partCCM)
	}
	return all, nil
}

// patchCCM makes the DaemonSet of the manifest that of the i-th replica: each has a port of its own, as they share their
// node's addresses, and a name of its own, by which its pods are told from the others'.
func (d *Deployment) patchCCM(set *appsv1.DaemonSet, c CCM, i int, elect, off bool) {
	name := ccmName
	if i > 0 {
		name = fmt.Sprintf("%s-%d", ccmName, i+1)
	}
	set.Name = name
	set.Labels[ccmNameLabel], set.Spec.Selector.MatchLabels[ccmNameLabel], set.Spec.Template.Labels[ccmNameLabel] = name, name, name
	set.Spec.Template.Labels[ManagedByLabel] = ManagedBy
	spec := &set.Spec.Template.Spec
	if off {
		anywhere(spec)
	}
	program := container(spec, ccmName)
	program.Image = c.Image
	if d.at != nil {
		d.at.keep(spec, program)
	}
	port := ccmPort
	if i > 0 {
		port = moreCCMPorts + i
	}
	program.Args = withFlags(d.ccmArgs(program.Args, port, elect), c.Args...)
	for _, probe := range []*corev1.Probe{program.LivenessProbe, program.ReadinessProbe} {
		probe.HTTPGet.Port.IntVal = int32(port)
	}
	program.ReadinessProbe.PeriodSeconds = 1 // somebody waits for it
}

func (d *Deployment) ccmArgs(args []string, port int, elect bool) []string {
	of := func(p pace.Period) string { return d.speed.Of(p).String() }
	args = withFlags(args,
		"--health-address=127.0.0.1:"+strconv.Itoa(port),
		"--node-monitor-period="+of(pace.CCMNodeMonitor),
		"--node-status-update-frequency="+of(pace.CCMNodeStatusUpdate),
		"--tag-refresh-period="+of(pace.TagRefresh),
		"--config-poll-period="+configPoll.String(),
		"--concurrent-node-syncs=4",
	)
	if !elect {
		return withFlags(args, "--leader-elect=false") // there is one: no lease to wait for
	}
	lease := d.speed.Of(pace.CCMLease)
	return withFlags(args,
		"--leader-elect=true",
		"--leader-elect-lease-duration="+lease.String(),
		"--leader-elect-renew-deadline="+(lease*2/3).Round(time.Millisecond).String(),
		"--leader-elect-retry-period="+(lease*2/15).Round(time.Millisecond).String())
}
