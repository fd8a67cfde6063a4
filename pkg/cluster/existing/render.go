package existing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/chart"
)

// installer is the managed-by label of objects that were installed from here, in place of "Helm".
const installer = "vsphere-sandbox-up"

// Release is a Helm release.
type Release struct{ Name, Namespace string }

// Objects returns the objects of a chart, whose folder is the root of a file system, as Helm renders them. They are in an order in
// which they can be created: accounts and permissions first, workloads last. Values are checked by the chart's schema.
func Objects(folder fs.FS, r Release, values map[string]any) ([]*unstructured.Unstructured, error) {
	c, err := chart.Open(folder)
	if err != nil {
		return nil, err
	}
	manifest, err := c.Render(chart.Options{Release: r.Name, Namespace: r.Namespace, Set: values, Installer: installer})
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("chart %s: %w", c, err)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return turn(a.GetKind()) - turn(b.GetKind()) })
	return all, nil
}

// turn returns the position of a kind in the order of creation.
func turn(kind string) int {
	switch kind {
	case "Namespace":
		return 0
	case "ServiceAccount", "ConfigMap", "Secret", "Service":
		return 1
	case "ClusterRole", "Role":
		return 2
	case "ClusterRoleBinding", "RoleBinding":
		return 3
	}
	return 4
}

// workload is a candidate for a cloud controller manager.
type workload struct {
	name string // "daemonset kube-system/cloud-controller-manager"
	pod  corev1.PodSpec
}

// isController reports whether the name of a Lease, an image or a program is a cloud controller manager's.
func isController(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "cloud-controller") || strings.Contains(name, "cloud-provider-") && !strings.HasPrefix(name, "-")
}

func (w workload) controls() bool {
	return slices.ContainsFunc(w.pod.Containers, func(c corev1.Container) bool {
		return isController(c.Image) || isController(c.Name) || len(c.Command) > 0 && isController(c.Command[0])
	})
}

func (c *Cluster) daemonSets(ctx context.Context) ([]workload, error) {
	list, err := c.client.AppsV1().DaemonSets("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	var all []workload
	for _, o := range list.Items {
		all = append(all, workload{"daemonset " + o.Namespace + "/" + o.Name, o.Spec.Template.Spec})
	}
	return all, nil
}

func (c *Cluster) deployments(ctx context.Context) ([]workload, error) {
	list, err := c.client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	var all []workload
	for _, o := range list.Items {
		if o.Spec.Replicas == nil || *o.Spec.Replicas > 0 {
			all = append(all, workload{"deployment " + o.Namespace + "/" + o.Name, o.Spec.Template.Spec})
		}
	}
	return all, nil
}

// staticPods returns the static pods, such as kubeadm's control plane.
func (c *Cluster) staticPods(ctx context.Context) ([]workload, error) {
	list, err := c.client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	var all []workload
	for _, o := range list.Items {
		if _, static := o.Annotations[corev1.MirrorPodAnnotationKey]; static {
			all = append(all, workload{"pod " + o.Namespace + "/" + o.Name, o.Spec})
		}
	}
	return all, nil
}

// Labels of everything that belongs to a sandbox. Objects of the chart have a label "part of" this program; what the
// sandbox creates later in the cluster (package deploy, light nodes) has "managed by". Both have the sandbox's name: a
// cluster has one sandbox (see [Cluster.Guard]), but another may have been installed by the time of the removal.
const (
	partOfLabel    = "app.kubernetes.io/part-of"
	instanceLabel  = "app.kubernetes.io/instance"
	managedByLabel = "app.kubernetes.io/managed-by"
	program        = "vsphere-sandbox"

	selectAnyChart = partOfLabel + "=" + program
)

// NamespaceOf returns the namespace of a sandbox.
func NamespaceOf(name string) string { return program + "-" + name }

// selectChart selects the chart's objects of a sandbox.
func selectChart(name string) string { return selectAnyChart + "," + instanceLabel + "=" + name }

// selectManaged selects what a sandbox created itself.
func selectManaged(name string) string {
	return managedByLabel + "=" + program + "," + instanceLabel + "=" + name
}

// chartLabels returns the labels of objects that are installed with the chart but not in it.
func chartLabels(name string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": program, partOfLabel: program, instanceLabel: name, managedByLabel: installer,
	}
}
