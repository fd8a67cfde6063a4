package storage

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func key(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

func keep[T any](m map[string]T, key string, v T, gone bool) {
	if gone {
		delete(m, key)
	} else {
		m[key] = v
	}
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func same(a, b api.Volume) bool { return reflect.DeepEqual(a, b) }

// handle is the id of the volume in vSphere, or the path of its disk, "" when it is in no vSphere.
func handle(v *corev1.PersistentVolume) string {
	switch {
	case v.Spec.CSI != nil:
		return v.Spec.CSI.VolumeHandle
	case v.Spec.VsphereVolume != nil:
		return v.Spec.VsphereVolume.VolumePath
	}
	return ""
}

func claimOf(v *corev1.PersistentVolume) string {
	if r := v.Spec.ClaimRef; r != nil {
		return r.Namespace + "/" + r.Name
	}
	return ""
}

// claimsOf lists the claims that a pod uses.
func claimsOf(p *corev1.Pod) (claims []string) {
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			claims = append(claims, p.Namespace+"/"+v.PersistentVolumeClaim.ClaimName)
		}
		if v.Ephemeral != nil {
			claims = append(claims, p.Namespace+"/"+p.Name+"-"+v.Name)
		}
	}
	return claims
}

// podsOf lists the pods that use a claim and have not ended, by name.
func (b *Book) podsOf(claim string) (pods []*corev1.Pod) {
	if claim == "" {
		return nil
	}
	for _, p := range b.pods {
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !ended && slices.Contains(claimsOf(p), claim) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(key(a), key(b)) })
	return pods
}

// attachmentsOf lists the VolumeAttachments of a PersistentVolume, those that are attached first.
func (b *Book) attachmentsOf(volume string) (all []*storagev1.VolumeAttachment) {
	for _, a := range b.attachments {
		if v := a.Spec.Source.PersistentVolumeName; v != nil && *v == volume {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *storagev1.VolumeAttachment) int {
		if a.Status.Attached != b.Status.Attached {
			if a.Status.Attached {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Spec.NodeName, b.Spec.NodeName)
	})
	return all
}
