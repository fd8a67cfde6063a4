package deploy

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// ForeignDriver is a cloud controller manager or a vSphere CSI driver in the cluster that the sandbox has not deployed.
type ForeignDriver struct {
	// What is "cloud controller manager" or "vSphere CSI driver".
	What string
	// Who identifies it: "aws", an image, a holder of a Lease.
	Who string
	// Where is the object that shows it: "pod kube-system/x".
	Where string
}

// String formats it for messages.
func (s ForeignDriver) String() string { return fmt.Sprintf("%s %s (%s)", s.What, s.Who, s.Where) }

// Foreign finds cloud controller managers of any cloud, and vSphere CSI drivers, that the sandbox did not deploy: two of
// them would both manage the nodes, or the volumes. It lists all pods of the cluster in pages.
func (d *Deployment) Foreign(ctx context.Context) ([]ForeignDriver, error) {
	var found []ForeignDriver
	seen := map[ForeignDriver]bool{}
	add := func(s ForeignDriver) {
		if !seen[s] {
			seen[s] = true
			found = append(found, s)
		}
	}
	driver, err := d.client.StorageV1().CSIDrivers().Get(ctx, names.Driver, metav1.GetOptions{})
	switch {
	case err == nil && !ours(driver):
		add(ForeignDriver{"vSphere CSI driver", names.Driver, "csidriver " + names.Driver})
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("look for other CSI drivers: %w", err)
	}
	made, err := d.selectors(ctx)
	if err != nil {
		return nil, err
	}
	pods := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return d.client.CoreV1().Pods("").List(ctx, o)
	})
	running := false
	err = pods.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		pod := o.(*corev1.Pod)
		who := cloudController(pod)
		if who == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			return nil
		}
		if slices.ContainsFunc(made, func(w workload) bool { return w.makes(pod) }) {
			running = true
			return nil
		}
		running = true
		add(ForeignDriver{"cloud controller manager", who, "pod " + pod.Namespace + "/" + pod.Name})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for other cloud controller managers: %w", err)
	}
	lease, err := d.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, "cloud-controller-manager", metav1.GetOptions{})
	switch {
	case err == nil && !running && held(lease): // its program is nowhere in the cluster: a provider of clusters runs it
		add(ForeignDriver{"cloud controller manager", *lease.Spec.HolderIdentity, "lease kube-system/cloud-controller-manager"})
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("look for other cloud controller managers: %w", err)
	}
	return found, nil
}

// selectors are the workloads that are ours, as the cluster has them now.
func (d *Deployment) selectors(ctx context.Context) ([]workload, error) {
	var all []workload
	options := metav1.ListOptions{LabelSelector: selectOurs}
	sets, err := d.client.AppsV1().DaemonSets("").List(ctx, options)
	if err != nil {
		return nil, err
	}
	for i := range sets.Items {
		all = append(all, daemonSet(&sets.Items[i]))
	}
	deployments, err := d.client.AppsV1().Deployments("").List(ctx, options)
	if err != nil {
		return nil, err
	}
	for i := range deployments.Items {
		all = append(all, deployment(&deployments.Items[i]))
	}
	return all, nil
}

// makes reports whether a workload owns a pod.
func (w workload) makes(pod *corev1.Pod) bool {
	return w.namespace == pod.Namespace && w.selector.Matches(labels.Set(pod.Labels))
}

// held reports whether a Lease was renewed recently.
func held(l *coordinationv1.Lease) bool {
	s := l.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == "" || s.RenewTime == nil || s.LeaseDurationSeconds == nil {
		return false
	}
	return time.Since(s.RenewTime.Time) < 2*time.Duration(*s.LeaseDurationSeconds)*time.Second
}

// cloudController says which cloud controller manager a pod is; "" when it is none. They go by many names; what they have in
// common is the name of their program, image or container, or the flag that names their cloud.
func cloudController(pod *corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		repository, _, _ := strings.Cut(path.Base(c.Image), ":")
		words := []string{c.Name, repository}
		line := append(slices.Clone(c.Command), c.Args...)
		if len(line) > 0 {
			words = append(words, path.Base(line[0]))
		}
		cloud := flagValue(line, "--cloud-provider")
		if slices.ContainsFunc(words, isCloudController) || pod.Labels["component"] == "cloud-controller-manager" ||
			pod.Labels["k8s-app"] == "cloud-controller-manager" || cloud != "" && flagValue(line, "--cloud-config") != "" && cloud != "external" {
			if cloud != "" {
				return cloud
			}
			return c.Image
		}
	}
	return ""
}

func isCloudController(word string) bool {
	return strings.Contains(word, "cloud-controller-manager") || strings.HasPrefix(word, "cloud-provider-") ||
		strings.HasSuffix(word, "-ccm") || strings.HasPrefix(word, "ccm-") || word == "ccm"
}
