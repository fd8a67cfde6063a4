package check

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// objects are what is read of the cluster.
type objects struct {
	version     string
	nodes       []corev1.Node
	csiNodes    map[string]storagev1.CSINode
	driver      bool // the CSIDriver is there
	volumes     []corev1.PersistentVolume
	classes     []storagev1.StorageClass
	attachments []storagev1.VolumeAttachment
	pods        []corev1.Pod
	ccm         string // who holds the lease of cloud controller managers
	// unread are the kinds that could not be read, each with the reason.
	unread []string
}

// page is how many objects an answer may hold.
const page = 500

// leaseOfCCM is that of every cloud controller manager, in kube-system.
const leaseOfCCM = "cloud-controller-manager"

// read reads the cluster. Without its nodes nothing can be said; every other kind that cannot be read is noted.
func read(ctx context.Context, c kubernetes.Interface, step func(string)) (*objects, error) {
	o := &objects{csiNodes: map[string]storagev1.CSINode{}}
	step("nodes")
	err := pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.CoreV1().Nodes().List(ctx, opts)
		if err != nil {
			return "", err
		}
		o.nodes = append(o.nodes, list.Items...)
		return list.Continue, nil
	})
	if err != nil {
		return nil, err
	}
	if v, err := c.Discovery().ServerVersion(); err == nil {
		o.version = v.GitVersion
	} else {
		o.note("version", err)
	}
	step("volumes and classes")
	o.note("csinodes", pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.StorageV1().CSINodes().List(ctx, opts)
		if err != nil {
			return "", err
		}
		for _, n := range list.Items {
			o.csiNodes[n.Name] = n
		}
		return list.Continue, nil
	}))
	o.note("persistentvolumes", pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.CoreV1().PersistentVolumes().List(ctx, opts)
		if err != nil {
			return "", err
		}
		o.volumes = append(o.volumes, list.Items...)
		return list.Continue, nil
	}))
	o.note("storageclasses", pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.StorageV1().StorageClasses().List(ctx, opts)
		if err != nil {
			return "", err
		}
		o.classes = append(o.classes, list.Items...)
		return list.Continue, nil
	}))
	o.note("volumeattachments", pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.StorageV1().VolumeAttachments().List(ctx, opts)
		if err != nil {
			return "", err
		}
		o.attachments = append(o.attachments, list.Items...)
		return list.Continue, nil
	}))
	_, err = c.StorageV1().CSIDrivers().Get(ctx, names.Driver, metav1.GetOptions{})
	if o.driver = err == nil; !apierrors.IsNotFound(err) {
		o.note("csidrivers", err)
	}
	step("pods")
	o.note("pods", pages(func(opts metav1.ListOptions) (string, error) {
		list, err := c.CoreV1().Pods(metav1.NamespaceAll).List(ctx, opts)
		if err != nil {
			return "", err
		}
		o.pods = append(o.pods, list.Items...)
		return list.Continue, nil
	}))
	lease, err := c.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, leaseOfCCM, metav1.GetOptions{})
	if err == nil && lease.Spec.HolderIdentity != nil {
		o.ccm = *lease.Spec.HolderIdentity
	} else if !apierrors.IsNotFound(err) {
		o.note("leases", err)
	}
	return o, ctx.Err()
}

// pages asks for one page after the other, until no more is told of.
func pages(ask func(metav1.ListOptions) (more string, err error)) error {
	next := ""
	for {
		more, err := ask(metav1.ListOptions{Limit: page, Continue: next})
		if err != nil || more == "" {
			return err
		}
		next = more
	}
}

func (o *objects) note(kind string, err error) {
	if err != nil {
		o.unread = append(o.unread, fmt.Sprintf("%s: %v", kind, err))
	}
}
