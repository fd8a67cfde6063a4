package deploy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// maxReplicas bounds the load on one host.
const maxReplicas = 9

// CCM selects and configures the cloud controller manager.
type CCM struct {
	Config
	// Image is the name of the sandbox's own image, which the nodes have already. Required without Manifest.
	Image string
	// Rights replace the account and the roles of manifests/ccm, which are for nodes alone. Optional.
	Rights []runtime.Object
	// Manifest is another project's manifest, applied unchanged except for the ConfigMap and the Secret with its
	// configuration. The fields below are for the sandbox's own.
	Manifest []byte
	// Args are added to the sandbox's own arguments, and override those of the same names.
	Args []string
	// Replicas is the number per control-plane node; 0 means one. Several elect a leader.
	Replicas int
}

func (c CCM) check() error {
	switch {
	case c.Conf == nil:
		return errors.New("cloud controller manager: no configuration")
	case c.Manifest == nil && c.Image == "":
		return errors.New("cloud controller manager: neither an image nor a manifest")
	case c.Replicas < 0 || c.Replicas > maxReplicas:
		return fmt.Errorf("cloud controller manager: %d replicas: 1 to %d", c.Replicas, maxReplicas)
	case c.Manifest != nil && (c.Replicas > 1 || len(c.Args) > 0):
		return errors.New("cloud controller manager: a manifest sets its replicas and arguments itself: " +
			"it is applied unchanged; edit the manifest, or use the built-in cloud controller manager")
	}
	return nil
}

// CCM deploys a cloud controller manager, and replaces an earlier one. It returns when everything has been applied,
// before it runs; see [Deployment.Wait].
func (d *Deployment) CCM(ctx context.Context, c CCM) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Manifest != nil && d.at != nil {
		return errors.New("cloud controller manager: a manifest sets the nodes of its pods itself, but here all pods must run on one node")
	}
	d.changing.Lock()
	defer d.changing.Unlock()
	return d.placeCCM(ctx, c)
}

func (d *Deployment) placeCCM(ctx context.Context, c CCM) error {
	var all []*unstructured.Unstructured
	var err error
	if c.Manifest != nil {
		all, err = d.foreignManifest(ctx, "cloud controller manager's manifest", c.Manifest, c.Config, ccmForm(), partCCM)
	} else {
		all, err = d.ownCCM(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("cloud controller manager: %w", err)
	}
	d.ccm = c
	if err := d.prune(ctx, partCCM, all); err != nil {
		return fmt.Errorf("cloud controller manager: %w", err)
	}
	return nil
}

// Configure updates the configuration of the cloud controller manager, as after a vCenter has changed its certificate or
// password. Pods see it when their kubelet synchronizes, within about a minute.
func (d *Deployment) Configure(ctx context.Context, c Config) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.ccm.Conf == nil {
		return errors.New("cloud controller manager: this process has not deployed one")
	}
	l := ownCCMLayout()
	if d.ccm.Manifest != nil {
		all, err := parse("manifest", d.ccm.Manifest)
		if err != nil {
			return err
		}
		if l, err = layoutOf(all, ccmForm()); err != nil {
			return err
		}
	}
	if err := d.write(ctx, l, c, partCCM); err != nil {
		return err
	}
	d.ccm.Config = c
	return nil
}

// Scale changes the number of cloud controller managers per control-plane node.
func (d *Deployment) Scale(ctx context.Context, replicas int) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	c := d.ccm
	switch {
	case c.Conf == nil:
		return errors.New("scale: this process has not deployed a cloud controller manager")
	case c.Manifest != nil:
		return errors.New("scale: the manifest sets the number of pods (a DaemonSet has one on each selected node), and it is applied unchanged; " +
			"only the built-in cloud controller manager can be scaled")
	}
	c.Replicas = replicas
	if err := c.check(); err != nil {
		return err
	}
	return d.placeCCM(ctx, c)
}

// Names in manifests/ccm.
const (
	ccmName      = "vsphere-cloud-controller-manager"
	ccmNamespace = "kube-system"
	// NSXSecret is the Secret with the account for the NSX Manager, which no manifest has.
	NSXSecret    = "vsphere-nsx-secret"
	ccmNameLabel = "app.kubernetes.io/name"
	// ccmPort is the health port of a node's first replica, moreCCMPorts the base for the others: the CSI driver uses the ports
	// between.
	ccmPort      = 10267
	moreCCMPorts = 10270
)

// configPoll is how often the cloud controller manager checks its file: the kubelet has delayed the change long enough.
const configPoll = 500 * time.Millisecond

func ownCCMLayout() layout {
	return layout{
		ConfigLocation: ConfigLocation{
			File: "/etc/cloud/vsphere.conf", CAFile: "/etc/cloud/" + caKey,
			SecretName: "vsphere-cloud-secret", SecretNamespace: ccmNamespace, NSXSecret: NSXSecret,
		},
		holder: "vsphere-cloud-config", holderNamespace: ccmNamespace, key: "vsphere.conf",
	}
}

// ownCCM applies the sandbox's own cloud controller manager, and returns its objects.
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
	files := contentsOf(l, c.Config)
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

// contentsOf returns the objects that hold a configuration, without their data.
func contentsOf(l layout, c Config) []*unstructured.Unstructured {
	kind := "ConfigMap"
	if l.holderIsSecret {
		kind = "Secret"
	}
	all := []*unstructured.Unstructured{bare("v1", kind, l.holderNamespace, l.holder)}
	if l.SecretName != "" && !(l.holderIsSecret && l.SecretName == l.holder) {
		all = append(all, bare("v1", "Secret", l.SecretNamespace, l.SecretName))
	}
	if nsxSecret(l, c) != nil {
		all = append(all, bare("v1", "Secret", l.SecretNamespace, l.NSXSecret))
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

// rights returns the account and the roles.
func (c CCM) rights() ([]*unstructured.Unstructured, error) {
	if c.Rights == nil {
		return own("ccm/rbac.yaml")
	}
	var all []*unstructured.Unstructured
	for _, o := range c.Rights {
		u := &unstructured.Unstructured{}
		if err := back(u, o); err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

// renderCCM renders manifests/ccm for a sandbox: its image, pace and labels, without the configuration, which is in no
// manifest. controlPlanes is the number of control-plane nodes.
func (d *Deployment) renderCCM(c CCM, controlPlanes int) ([]*unstructured.Unstructured, error) {
	all, err := c.rights()
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

// patchCCM changes the manifest's DaemonSet into that of the i-th replica: its own port, since replicas share the node's
// addresses, and its own name, which distinguishes its pods.
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
	program.ReadinessProbe.PeriodSeconds = 1 // a user waits for it
}

func (d *Deployment) ccmArgs(args []string, port int, elect bool) []string {
	args = withFlags(withFlags(args, d.speed.CCMArgs()...),
		"--health-address=127.0.0.1:"+strconv.Itoa(port),
		"--tag-refresh-period="+d.speed.Of(pace.TagRefresh).String(),
		"--config-poll-period="+configPoll.String(),
		"--concurrent-node-syncs=4",
	)
	if !elect {
		return withFlags(args, "--leader-elect=false") // a single replica need not wait for a lease
	}
	lease := d.speed.Of(pace.CCMLease)
	return withFlags(args,
		"--leader-elect=true",
		"--leader-elect-lease-duration="+lease.String(),
		"--leader-elect-renew-deadline="+(lease*2/3).Round(time.Millisecond).String(),
		"--leader-elect-retry-period="+(lease*2/15).Round(time.Millisecond).String())
}
