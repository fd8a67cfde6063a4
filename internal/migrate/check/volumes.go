package check

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/csi-translation-lib/plugins"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// corePV is a volume of the in-tree provider as it is, and as Kubernetes hands it to the CSI driver.
type corePV struct {
	was, is *corev1.PersistentVolume
	err     error // of the translation
}

// readVolumes takes the volumes and classes of the in-tree provider into the report, translated as the scheduler, the
// controllers and kubelets of Kubernetes translate them.
func (c *run) readVolumes() {
	translator := csitranslation.New()
	log := klog.Background().V(10) // the report names what is not translated
	claims := c.users()
	for i := range c.objects.volumes {
		pv := &c.objects.volumes[i]
		if pv.Spec.VsphereVolume == nil {
			continue
		}
		src := corePV{was: pv}
		src.is, src.err = translator.TranslateInTreePVToCSI(log, pv)
		v := Volume{
			Name: pv.Name, Path: pv.Spec.VsphereVolume.VolumePath, Phase: string(pv.Status.Phase), Class: pv.Spec.StorageClassName,
			Reclaim: string(pv.Spec.PersistentVolumeReclaimPolicy),
		}
		if ref := pv.Spec.ClaimRef; ref != nil {
			v.Claim = ref.Namespace + "/" + ref.Name
			v.Pods = claims[v.Claim]
		}
		v.Datastore, _, _ = split(v.Path) // what cannot be taken apart is a finding
		v.Attached = c.attachedTo(pv.Name)
		if src.err == nil {
			v.Handle, v.Topology = src.is.Spec.CSI.VolumeHandle, required(src.is)
		}
		c.sources = append(c.sources, src)
		c.report.Volumes = append(c.report.Volumes, v)
	}
	for i := range c.objects.classes {
		sc := &c.objects.classes[i]
		if sc.Provisioner != plugins.VSphereInTreePluginName {
			continue
		}
		k := Class{Name: sc.Name, Parameters: sc.Parameters, Default: sc.Annotations["storageclass.kubernetes.io/is-default-class"] == "true"}
		if csi, err := translator.TranslateInTreeStorageClassToCSI(log, sc.Provisioner, sc); err == nil {
			k.CSI = csi.Parameters
		}
		c.report.Classes = append(c.report.Classes, k)
	}
	for i := range c.objects.pods {
		p := &c.objects.pods[i]
		if slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.VsphereVolume != nil }) {
			c.report.Inline = append(c.report.Inline, p.Namespace+"/"+p.Name)
		}
	}
}

// datastore is the one that the class names.
func (k Class) datastore() string {
	for key, value := range k.Parameters {
		if strings.EqualFold(key, "datastore") {
			return value[strings.LastIndex(value, "/")+1:]
		}
	}
	return ""
}

// users are the pods, NAMESPACE/NAME, that have a claim and are not done, by the claim.
func (c *run) users() map[string][]string {
	users := map[string][]string{}
	for i := range c.objects.pods {
		p := &c.objects.pods[i]
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				claim := p.Namespace + "/" + v.PersistentVolumeClaim.ClaimName
				users[claim] = append(users[claim], p.Namespace+"/"+p.Name)
			}
		}
	}
	return users
}

// attachedTo are the nodes that a volume is attached to, by the CSI driver and by the controller of volumes before it.
func (c *run) attachedTo(pv string) []string {
	nodes := map[string]bool{}
	for _, a := range c.objects.attachments {
		if named(a) == pv && a.Status.Attached {
			nodes[a.Spec.NodeName] = true
		}
	}
	for i := range c.objects.volumes {
		src := c.objects.volumes[i].Spec.VsphereVolume
		if c.objects.volumes[i].Name != pv || src == nil {
			continue
		}
		for j := range c.objects.nodes {
			for _, v := range c.objects.nodes[j].Status.VolumesAttached {
				if string(v.Name) == plugins.VSphereInTreePluginName+"/"+src.VolumePath {
					nodes[c.objects.nodes[j].Name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(nodes))
}

func named(a storagev1.VolumeAttachment) string {
	if a.Spec.Attacher != names.Driver || a.Spec.Source.PersistentVolumeName == nil {
		return ""
	}
	return *a.Spec.Source.PersistentVolumeName
}

// required are the labels that a volume's nodes must have, as far as they are one value each.
func required(pv *corev1.PersistentVolume) map[string]string {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return nil
	}
	labels := map[string]string{}
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			labels[e.Key] = strings.Join(e.Values, ",")
		}
	}
	return labels
}
