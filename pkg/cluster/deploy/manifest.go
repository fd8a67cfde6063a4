package deploy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/manifests"
)

// form is how programs of a kind get the path of their configuration.
type form struct {
	// flags and env name the file, the first that is there; file is where it is when none does.
	flags, env []string
	file       string
}

func ccmForm() form {
	return form{flags: []string{"--cloud-config"}, env: []string{"VSPHERE_CLOUD_CONFIG"}, file: "/etc/cloud/vsphere.conf"}
}

func csiForm() form {
	return form{flags: []string{"--config"}, env: []string{"VSPHERE_CSI_CONFIG"}, file: "/etc/cloud/csi-vsphere.conf"}
}

// named returns the configuration file that a container's arguments name, or "".
func (f form) named(c *corev1.Container) string {
	for _, flag := range f.flags {
		if v := flagValue(append(slices.Clone(c.Command), c.Args...), flag); v != "" {
			return v
		}
	}
	for _, e := range c.Env {
		if slices.Contains(f.env, e.Name) {
			return e.Value
		}
	}
	return ""
}

// layoutOf finds, in the objects of a manifest, which ConfigMap or Secret its pods are configured with, and which Secret has
// the credentials.
func layoutOf(all []*unstructured.Unstructured, f form) (layout, error) {
	var l layout
	for _, o := range all {
		if !isWorkload(o) || l.holder != "" {
			continue
		}
		pod, err := podOf(o)
		if err != nil {
			return l, fmt.Errorf("%s: %w", title(o), err)
		}
		for i := range pod.Spec.Containers {
			if found, ok := mounted(&pod.Spec, &pod.Spec.Containers[i], f); ok {
				found.holderNamespace, found.image = o.GetNamespace(), pod.Spec.Containers[i].Image
				l = found
				break
			}
		}
	}
	if l.holder == "" {
		return l, fmt.Errorf("no container reads a configuration from a ConfigMap or Secret that is mounted as a folder (%s, or the value of %s)", f.file, f.flags[0])
	}
	if l.holderIsSecret {
		l.SecretName, l.SecretNamespace = "", ""
		return l, nil
	}
	for _, o := range all {
		if o.GetKind() == "Secret" && o.GetNamespace() == l.holderNamespace && !isToken(o) {
			l.SecretName, l.SecretNamespace = o.GetName(), o.GetNamespace()
			break
		}
	}
	return l, nil
}

func isToken(o *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(o.Object, "type")
	return kind == string(corev1.SecretTypeServiceAccountToken)
}

// mounted finds the volume that a container's configuration is in.
func mounted(pod *corev1.PodSpec, c *corev1.Container, f form) (layout, bool) {
	file := f.named(c)
	if file == "" {
		file = f.file
	}
	folder := path.Dir(file)
	for _, m := range c.VolumeMounts {
		if path.Clean(m.MountPath) != folder || m.SubPath != "" {
			continue
		}
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if i < 0 {
			continue
		}
		l := layout{ConfigLocation: ConfigLocation{File: file, CAFile: path.Join(folder, caKey)}, key: path.Base(file)}
		switch v := pod.Volumes[i]; {
		case v.ConfigMap != nil && len(v.ConfigMap.Items) == 0:
			l.holder = v.ConfigMap.Name
			return l, true
		case v.Secret != nil && len(v.Secret.Items) == 0:
			l.holder, l.holderIsSecret = v.Secret.SecretName, true
			return l, true
		}
	}
	return layout{}, false
}

// foreignManifest applies a manifest as kubectl apply --server-side would, in its order, and then says that the objects are
// ours, by labels on them alone: what pods are made of stays as it is. The contents of the ConfigMap and the Secret, which in
// a release are examples, are replaced as soon as they are there.
func (d *Deployment) foreignManifest(ctx context.Context, name string, manifest []byte, c Config, f form, part string) ([]*unstructured.Unstructured, error) {
	all, err := parse(name, manifest)
	if err != nil {
		return nil, err
	}
	if err := removable(all); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l, err := layoutOf(all, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	files := contentsOf(l, c)
	toApply, err := d.claim(ctx, all)
	if err != nil {
		return nil, err
	}
	if _, err := d.claim(ctx, files); err != nil {
		return nil, err
	}
	configured := false
	for _, o := range toApply {
		if isWorkload(o) && !configured { // a manifest may leave out what holds the configuration, or have it last
			if err := d.write(ctx, l, c, part); err != nil {
				return nil, err
			}
			configured = true
		}
		if err := d.apply(ctx, o.DeepCopy()); err != nil {
			return nil, named(o, err)
		}
		if err := d.own(ctx, o, part); err != nil {
			return nil, named(o, err)
		}
		if configured && holds(files, o) {
			if err := d.write(ctx, l, c, part); err != nil {
				return nil, err
			}
		}
	}
	return append(all, files...), nil
}

func holds(files []*unstructured.Unstructured, o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(files, func(f *unstructured.Unstructured) bool { return identity(f) == identity(o) })
}

// own labels an object that is there.
func (d *Deployment) own(ctx context.Context, o *unstructured.Unstructured, part string) error {
	into, err := d.resource(o)
	if err != nil {
		return err
	}
	labeled := bare(o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())
	mark(labeled, part)
	d.stamp(labeled)
	_, err = serverSide(ctx, into, labeled, ownerManager)
	return err
}

// Workload is what deploys a program.
type Workload struct {
	// Title names it: "daemonset kube-system/vsphere-cloud-controller-manager".
	Title, Namespace string
	// Pod is the specification of its pods, Container the program's.
	Pod       corev1.PodSpec
	Container corev1.Container
	// ConfigFile is the path of its configuration in the container.
	ConfigFile string
}

// ReadCCM returns the objects of a manifest, in their order, and the workload that deploys the cloud controller manager: its
// container reads that configuration. name is for messages.
func ReadCCM(name string, manifest []byte) ([]*unstructured.Unstructured, *Workload, error) {
	all, err := parse(name, manifest)
	if err != nil {
		return nil, nil, err
	}
	var others []string
	for _, o := range all {
		if !isWorkload(o) {
			continue
		}
		pod, err := podOf(o)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, named(o, err))
		}
		for _, c := range pod.Spec.Containers {
			if l, ok := mounted(&pod.Spec, &c, ccmForm()); ok {
				return all, &Workload{title(o), o.GetNamespace(), pod.Spec, c, l.File}, nil
			}
			others = append(others, title(o)+" (image "+c.Image+")")
		}
	}
	if others == nil {
		return nil, nil, fmt.Errorf("%s: there is no DaemonSet and no Deployment in it", name)
	}
	_, err = layoutOf(all, ccmForm())
	return nil, nil, fmt.Errorf("%s: deploys no cloud controller manager for vSphere, but %s: %w", name, strings.Join(others, ", "), err)
}

// CCMImage returns the image of the container of a manifest that reads the cloud controller manager's configuration.
// Images of its other containers do not count.
func CCMImage(manifest []byte) (string, error) {
	all, err := parse("manifest", manifest)
	if err != nil {
		return "", err
	}
	l, err := layoutOf(all, ccmForm())
	if err != nil {
		return "", fmt.Errorf("manifest: %w", err)
	}
	return l.image, nil
}

// ManifestImages lists the images that the pods of a manifest run, each once: those that nodes need to have.
func ManifestImages(manifest []byte) ([]string, error) {
	all, err := parse("manifest", manifest)
	if err != nil {
		return nil, err
	}
	var images []string
	for _, o := range all {
		if !isWorkload(o) {
			continue
		}
		pod, err := podOf(o)
		if err != nil {
			return nil, named(o, err)
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			if !slices.Contains(images, c.Image) {
				images = append(images, c.Image)
			}
		}
	}
	return images, nil
}

// parse reads the objects of a manifest, in their order. name is for messages.
func parse(name string, manifest []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for n := 1; ; n++ {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", name, n, err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &o.Object); err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", name, n, err)
		}
		switch {
		case len(o.Object) == 0: // comments only
		case o.IsList(): // kubectl applies each of its objects
			list, err := o.ToList()
			if err != nil {
				return nil, fmt.Errorf("%s: document %d, a %s: %w", name, n, o.GetKind(), err)
			}
			for i := range list.Items {
				if !whole(&list.Items[i]) {
					return nil, fmt.Errorf("%s: document %d, item %d is no object of Kubernetes: %s", name, n, i+1, wholeNeeds)
				}
				all = append(all, &list.Items[i])
			}
		case !whole(o):
			return nil, fmt.Errorf("%s: document %d is no object of Kubernetes: %s", name, n, wholeNeeds)
		default:
			all = append(all, o)
		}
	}
}

const wholeNeeds = "it needs apiVersion, kind and metadata.name"

func whole(o *unstructured.Unstructured) bool {
	return o.GetKind() != "" && o.GetAPIVersion() != "" && o.GetName() != ""
}

// own reads files of manifests.
func own(files ...string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, file := range files {
		data, err := manifests.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parse("manifests/"+file, data)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// isWorkload reports whether an object creates pods.
func isWorkload(o *unstructured.Unstructured) bool {
	return o.GetKind() == "DaemonSet" || o.GetKind() == "Deployment"
}

// clear removes a workload of the same name with another selector: selectors are immutable. It waits for one that is
// already being removed: its controller creates no pods any more.
func (d *Deployment) clear(ctx context.Context, into dynamic.ResourceInterface, o *unstructured.Unstructured) error {
	existing, err := into.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if existing.GetDeletionTimestamp() == nil && reflect.DeepEqual(selects(existing), selects(o)) {
		return nil
	}
	return gone(ctx, into, o.GetName())
}

func selects(o *unstructured.Unstructured) map[string]string {
	labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	return labels
}

// asDaemonSet and asDeployment edit a workload in its typed form.
func asDaemonSet(o *unstructured.Unstructured, edit func(*appsv1.DaemonSet)) error {
	typed := &appsv1.DaemonSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return err
	}
	edit(typed)
	return back(o, typed)
}

func asDeployment(o *unstructured.Unstructured, edit func(*appsv1.Deployment)) error {
	typed := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return err
	}
	edit(typed)
	return back(o, typed)
}

// back writes an edited object back into its unstructured form, without the status.
func back(o *unstructured.Unstructured, typed any) error {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return err
	}
	delete(raw, "status")
	unstructured.RemoveNestedField(raw, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(raw, "spec", "template", "metadata", "creationTimestamp")
	o.Object = raw
	return nil
}

// podOf returns the pod template of a workload.
func podOf(o *unstructured.Unstructured) (*corev1.PodTemplateSpec, error) {
	raw, _, err := unstructured.NestedMap(o.Object, "spec", "template")
	if err != nil {
		return nil, err
	}
	template := &corev1.PodTemplateSpec{}
	return template, runtime.DefaultUnstructuredConverter.FromUnstructured(raw, template)
}

const controlPlane = "node-role.kubernetes.io/control-plane"

// anywhere removes the affinity to control-plane nodes, for clusters that do not show them.
func anywhere(spec *corev1.PodSpec) { spec.Affinity = nil }

// keep restricts a pod to the node.
func (a *Placement) keep(spec *corev1.PodSpec, program *corev1.Container) {
	spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{a.Node}}},
		}},
	}}}
	spec.Tolerations = append(spec.Tolerations, a.Tolerations...)
	program.Command = a.Command
}

// showsControlPlane returns the number of control-plane nodes that the cluster shows.
func (d *Deployment) showsControlPlane(ctx context.Context) (nodes int, err error) {
	list, err := d.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: controlPlane})
	if err != nil {
		return 0, err
	}
	return len(list.Items), nil
}

// container returns the container of a name, or nil.
func container(spec *corev1.PodSpec, name string) *corev1.Container {
	i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &spec.Containers[i]
}
