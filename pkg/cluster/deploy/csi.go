package deploy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/objects"
)

// The backends of a node service.
const (
	// BackendDevice mounts the disk at /dev/disk/by-id of the node.
	BackendDevice = "device"
	// BackendDir bind mounts the directory behind the disk's link there, below CSI.VolumesDir: for nodes without block devices.
	BackendDir = "dir"
)

// CSI selects and configures the CSI driver.
type CSI struct {
	Config
	// Image and Sidecars are the names of the images of the sandbox's own driver and of the stock sidecars, which the
	// nodes have already. Required without Manifest.
	Image, Sidecars string
	// Manifest is another project's manifest, applied unchanged: see CCM.Manifest. The sandbox adds its StorageClasses,
	// and what snapshots need but no driver brings: their CRDs and, with Sidecars, their controller. Of the fields below
	// only Policies applies.
	Manifest []byte
	// Backend is BackendDevice, the default, or BackendDir.
	Backend string
	// VolumesDir is the directory of the volumes with BackendDir, and of shares of files: all nodes share it at that path.
	// With BackendDevice it is optional.
	VolumesDir string
	// SerialFile is the file on every node with the serial number of its VM. Default: the firmware's.
	SerialFile string
	// Light is the label of nodes that run no pods; "" if the cluster has no such nodes.
	Light string
	// Policies are the names of storage policies that get a StorageClass each.
	Policies []string
	// Zones is set if nodes are in regions and zones: volumes are then created where their pods can run.
	Zones bool
}

func (c CSI) withDefaults() CSI {
	if c.Backend == "" {
		c.Backend = BackendDevice
	}
	return c
}

func (c CSI) check() error {
	switch {
	case c.Conf == nil:
		return errors.New("csi: no configuration")
	case c.Manifest != nil:
		return nil
	case c.Image == "" || c.Sidecars == "":
		return errors.New("csi: the images of the driver and of the sidecars, or a manifest, are needed")
	case c.Backend != BackendDevice && c.Backend != BackendDir:
		return fmt.Errorf("csi: backend %q: %s or %s", c.Backend, BackendDevice, BackendDir)
	case c.Backend == BackendDir && c.VolumesDir == "":
		return fmt.Errorf("csi: no volumes directory, which backend %s needs", BackendDir)
	}
	for _, p := range []string{c.VolumesDir, c.SerialFile} {
		if p != "" && (!path.IsAbs(p) || path.Clean(p) != p || strings.ContainsAny(p, ",")) {
			return fmt.Errorf("csi: %q: an absolute path on the nodes is needed", p)
		}
	}
	return nil
}

// CSI deploys a CSI driver, and replaces an earlier one: the controller with the sidecars, the snapshot-controller, a
// node service on every node, StorageClasses. It returns when everything has been applied, before it runs; see
// [Deployment.Wait].
func (d *Deployment) CSI(ctx context.Context, c CSI) error {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return err
	}
	d.changing.Lock()
	defer d.changing.Unlock()
	var all []*unstructured.Unstructured
	var err error
	if c.Manifest != nil {
		all, err = d.foreignCSI(ctx, c)
	} else {
		all, err = d.ownCSI(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	d.csi = c
	if err := d.prune(ctx, partCSI, all); err != nil {
		return fmt.Errorf("csi: %w", err)
	}
	return nil
}

// foreignCSI applies another project's manifest, after the CRDs: its sidecars exit without them.
func (d *Deployment) foreignCSI(ctx context.Context, c CSI) ([]*unstructured.Unstructured, error) {
	theirs, err := parse("CSI driver's manifest", c.Manifest)
	if err != nil {
		return nil, err
	}
	controlPlanes, err := d.showsControlPlane(ctx)
	if err != nil {
		return nil, err
	}
	beside, err := d.besideCSI(c, controlPlanes, theirs)
	if err != nil {
		return nil, err
	}
	var first, rest []*unstructured.Unstructured
	for _, o := range beside {
		if shared(o) {
			first = append(first, o)
		} else {
			rest = append(rest, o)
		}
	}
	if err := d.install(ctx, first); err != nil {
		return nil, err
	}
	all, err := d.foreignManifest(ctx, "CSI driver's manifest", c.Manifest, c.Config, csiForm(), partCSI)
	if err != nil {
		return nil, err
	}
	return append(all, beside...), d.install(ctx, rest)
}

// besideCSI returns what the sandbox adds to any driver, except for what the manifest has itself.
func (d *Deployment) besideCSI(c CSI, controlPlanes int, theirs []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	all, err := d.renderCSI(c, controlPlanes)
	if err != nil {
		return nil, err
	}
	brought := map[string]bool{}
	for _, o := range theirs {
		brought[identity(o)] = true
	}
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool {
		controller := strings.HasSuffix(o.GetName(), objects.SnapshotController)
		switch {
		case brought[identity(o)]:
			return true
		case o.GetKind() == "Namespace", o.GetKind() == "StorageClass", o.GetKind() == "VolumeSnapshotClass":
			return false
		case o.GetKind() == "CustomResourceDefinition":
			return !strings.HasSuffix(o.GetName(), ".snapshot.storage.k8s.io")
		}
		return !controller || c.Sidecars == ""
	}), nil
}

// ErrNoForeignCSI is returned if this process has not deployed another project's CSI driver.
var ErrNoForeignCSI = errors.New("csi: no CSI driver of another project is deployed")

// ConfigureCSI updates the configuration of another project's CSI driver, as after a password has changed. Pods see it
// when their kubelet synchronizes, within about a minute. It does not write the Secret of the sandbox's own driver.
func (d *Deployment) ConfigureCSI(ctx context.Context, c Config) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.csi.Manifest == nil {
		return ErrNoForeignCSI
	}
	all, err := parse("CSI driver's manifest", d.csi.Manifest)
	if err != nil {
		return err
	}
	l, err := layoutOf(all, csiForm())
	if err != nil {
		return err
	}
	d.csi.Config = c
	return d.write(ctx, l, c, partCSI)
}

// Names in manifests/csi.
const (
	csiControllerContainer = "vsphere-csi-controller"
	csiNodeContainer       = "vsphere-csi-node"
	csiSecret              = "vsphere-csi-secret"
	snapshotController     = "snapshot-controller"
	// csiState has the mounts of a node service; the kubelet's folder outlives the pod.
	csiState = "/var/lib/kubelet/plugins/csi.vsphere.vmware.com/state"
)

func ownCSILayout() layout {
	return layout{
		ConfigLocation: ConfigLocation{
			File: "/etc/cloud/vsphere.conf", CAFile: "/etc/cloud/" + caKey,
			SecretName: csiSecret, SecretNamespace: objects.DefaultNamespace,
		},
		holder: "vsphere-csi-config", holderNamespace: objects.DefaultNamespace, key: "vsphere.conf",
	}
}

func (d *Deployment) ownCSI(ctx context.Context, c CSI) ([]*unstructured.Unstructured, error) {
	nodes, err := d.showsControlPlane(ctx)
	if err != nil {
		return nil, err
	}
	all, err := d.renderCSI(c, nodes)
	if err != nil {
		return nil, err
	}
	l := ownCSILayout()
	files := contentsOf(l, c.Config)
	for _, f := range files {
		mark(f, partCSI)
	}
	if _, err := d.claim(ctx, append(files, all...)); err != nil {
		return nil, err
	}
	var first, rest []*unstructured.Unstructured // the namespace of the configuration
	for _, o := range all {
		if o.GetKind() == "Namespace" {
			first = append(first, o)
		} else {
			rest = append(rest, o)
		}
	}
	if err := d.install(ctx, first); err != nil {
		return nil, err
	}
	if err := d.write(ctx, l, c.Config, partCSI); err != nil {
		return nil, err
	}
	return append(all, files...), d.install(ctx, rest)
}

// renderCSI renders manifests/csi for a sandbox: its images, pace, classes and labels, without the configuration. The
// controller is one pod that is replaced as a whole, so leader election is off.
func (d *Deployment) renderCSI(c CSI, controlPlanes int) ([]*unstructured.Unstructured, error) {
	typed, err := objects.All(objects.Config{
		OnePod: true, SecretNames: []string{csiSecret}, Policies: c.Policies, Capacity: c.Zones,
	})
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, o := range typed {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: raw}
		unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
		delete(u.Object, "status")
		all = append(all, u)
	}
	workloads, err := own("csi/controller.yaml", "csi/snapshot-controller.yaml", "csi/node.yaml")
	if err != nil {
		return nil, err
	}
	for _, o := range workloads {
		if o.GetKind() == "DaemonSet" {
			err = asDaemonSet(o, func(set *appsv1.DaemonSet) { patchNodeService(&set.Spec.Template, c) })
		} else {
			err = asDeployment(o, func(of *appsv1.Deployment) { d.patchController(of, c, controlPlanes == 0) })
		}
		if err != nil {
			return nil, err
		}
	}
	all = append(all, workloads...)
	for _, o := range all {
		mark(o, partCSI)
	}
	return all, nil
}

// patchController adapts a Deployment of the manifests to the sandbox.
func (d *Deployment) patchController(of *appsv1.Deployment, c CSI, off bool) {
	// Two at the same time would need leader election.
	of.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	of.Spec.Template.Labels[ManagedByLabel] = ManagedBy
	spec := &of.Spec.Template.Spec
	if off {
		anywhere(spec)
	}
	for i := range spec.Containers {
		one := &spec.Containers[i]
		if one.Name == csiControllerContainer {
			one.Image = c.Image
			one.ReadinessProbe = readiness(one)
			one.Args = withFlags(one.Args, "--config-poll-period="+configPoll.String(), "--tag-refresh-period="+d.speed.Of(pace.TagRefresh).String())
			continue
		}
		one.Image = c.Sidecars
		one.Args = d.sidecarArgs(one.Name, one.Args, c.Zones)
		if c.Zones && one.Name == objects.Provisioner { // where it writes CSIStorageCapacity objects
			one.Env = append(one.Env, corev1.EnvVar{Name: "NAMESPACE", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}})
		}
	}
}

// sidecarArgs returns the arguments of a sidecar at the sandbox's pace.
func (d *Deployment) sidecarArgs(name string, args []string, zones bool) []string {
	of := func(p pace.Period) string { return d.speed.Of(p).String() }
	args = withoutFlags(args, "--leader-election-namespace")
	args = withFlags(args, "--leader-election=false", "--kube-api-qps=200", "--kube-api-burst=400",
		"--retry-interval-start="+of(pace.CSIRetryStart), "--retry-interval-max="+of(pace.CSIRetryMax))
	switch {
	case name == "csi-attacher":
		return withFlags(args, "--reconcile-sync="+of(pace.CSIReconcile))
	case name == "csi-provisioner" && zones:
		return withFlags(args, "--feature-gates=Topology=true", "--strict-topology=true", "--enable-capacity", "--capacity-poll-interval="+of(pace.CSIReconcile))
	case name == "csi-provisioner": // with topology it would reject nodes without a zone
		return withFlags(withoutFlags(args, "--strict-topology"), "--feature-gates=Topology=false")
	default:
		return args
	}
}

// patchNodeService adapts the DaemonSet of the manifests to the sandbox.
func patchNodeService(pod *corev1.PodTemplateSpec, c CSI) {
	pod.Labels[ManagedByLabel] = ManagedBy
	pod.Spec.Affinity = without(cluster.NoVM, c.Light)
	program := container(&pod.Spec, csiNodeContainer)
	program.Image = c.Image
	program.ReadinessProbe = readiness(program)
	if c.Backend == BackendDir {
		// Pods run in containers, so volumes are bind mounted.
		program.Args = withFlags(program.Args, "--backend=hollow", "--bind", "--state-dir="+csiState)
	}
	if c.VolumesDir != "" {
		mountHost(&pod.Spec, program, "volumes", c.VolumesDir, corev1.HostPathDirectoryOrCreate, false)
	}
	if c.SerialFile != "" {
		program.Args = withFlags(program.Args, "--serial-file="+c.SerialFile)
		mountHost(&pod.Spec, program, "serial", c.SerialFile, corev1.HostPathFile, true)
	}
}

// without returns an affinity that excludes nodes with one of these labels: those that are no VMs, or run no pods.
func without(labels ...string) *corev1.Affinity {
	var term corev1.NodeSelectorTerm
	for _, label := range labels {
		if label != "" {
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: label, Operator: corev1.NodeSelectorOpDoesNotExist})
		}
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}},
	}}
}

// readiness returns a readiness probe like the liveness probe: without it a program that exits at once is ready at first.
func readiness(c *corev1.Container) *corev1.Probe {
	probe := c.LivenessProbe.DeepCopy()
	probe.HTTPGet.Path = "/readyz"
	probe.InitialDelaySeconds, probe.PeriodSeconds, probe.FailureThreshold = 0, 1, 3 // a user waits for it
	return probe
}

// mountHost mounts a file or folder of the node at the same path.
func mountHost(spec *corev1.PodSpec, c *corev1.Container, name, at string, kind corev1.HostPathType, readOnly bool) {
	spec.Volumes = append(spec.Volumes, corev1.Volume{
		Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: at, Type: &kind}},
	})
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: at, ReadOnly: readOnly})
}
