package check

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/csi-translation-lib/plugins"
	"k8s.io/klog/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
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

// disk is what is known of a file.
type disk struct {
	// at are the places where it is, "vcenter datacenter", and urls the datastores of these, "vcenter URL".
	at, urls []string
	// vcenters are those that have a datastore of its name.
	vcenters []string
	// unknown says why a place could not be searched.
	unknown []string
}

// split takes a path of a disk apart: "[DATASTORE] FOLDER/FILE". In a cluster of datastores the part in brackets may be
// "CLUSTER/DATASTORE".
func split(text string) (datastore, file string, err error) {
	var p object.DatastorePath
	if !p.FromString(strings.TrimSpace(text)) || p.Datastore == "" || strings.Trim(p.Path, "/") == "" {
		return "", "", fmt.Errorf("path %q is not [DATASTORE] FOLDER/FILE.vmdk", text)
	}
	return p.Datastore[strings.LastIndex(p.Datastore, "/")+1:], strings.TrimPrefix(p.Path, "/"), nil
}

// findDisks looks for the disks of all volumes in the datastores of a vCenter: one search for each folder.
func (c *run) findDisks(ctx context.Context, conn *vcenter.Connection, s *seen) {
	folders := map[string]map[string][]string{} // files by datastore and folder
	for _, v := range c.report.Volumes {
		name, file, err := split(v.Path)
		if err != nil {
			continue
		}
		if folders[name] == nil {
			folders[name] = map[string][]string{}
		}
		dir, base := path.Split(file)
		folders[name][dir] = append(folders[name][dir], base)
	}
	for _, d := range s.datastores {
		for _, dir := range slices.Sorted(maps.Keys(folders[d.name])) {
			files := slices.Compact(slices.Sorted(slices.Values(folders[d.name][dir])))
			there, err := search(ctx, conn, d, dir, files)
			for _, file := range files {
				known := c.disk(d.name, dir+file)
				known.vcenters = append(known.vcenters, s.name)
				switch {
				case err != nil:
					known.unknown = append(known.unknown, err.Error())
				case there[file]:
					known.found(s.name, d)
				}
			}
		}
	}
}

// unsearched notes why nothing is known of the disks in some datastores of a vCenter.
func (c *run) unsearched(s *seen, in []types.ManagedObjectReference, why error) {
	for _, ref := range in {
		for _, v := range c.report.Volumes {
			name, file, err := split(v.Path)
			if err != nil || name != s.tree[ref].Name {
				continue
			}
			known := c.disk(name, file)
			known.vcenters = append(known.vcenters, s.name)
			known.unknown = append(known.unknown, fmt.Sprintf("%s: %v", name, why))
		}
	}
}

// found notes a place. A datastore that several datacenters of a vCenter mount has one URL, and is one place.
func (d *disk) found(vcenter string, in datastore) {
	url := vcenter + " " + in.url
	if in.url != "" && slices.Contains(d.urls, url) {
		return
	}
	d.urls, d.at = append(d.urls, url), append(d.at, vcenter+" "+in.datacenter)
}

// disk is what is known of a file, to be added to.
func (c *run) disk(datastore, file string) *disk {
	key := datastore + "\n" + file
	if c.disks == nil {
		c.disks = map[string]*disk{}
	}
	if c.disks[key] == nil {
		c.disks[key] = &disk{}
	}
	return c.disks[key]
}

// search asks which of the files are in a folder; one that is not there has none.
func search(ctx context.Context, conn *vcenter.Connection, d datastore, dir string, files []string) (map[string]bool, error) {
	there := map[string]bool{}
	var result types.HostDatastoreBrowserSearchResults
	err := conn.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		b := object.NewHostDatastoreBrowser(vim, d.browser)
		at := object.DatastorePath{Datastore: d.name, Path: strings.TrimSuffix(dir, "/")}
		task, err := b.SearchDatastore(ctx, at.String(), &types.HostDatastoreBrowserSearchSpec{MatchPattern: files})
		if err != nil {
			return err
		}
		info, err := task.WaitForResult(ctx, nil)
		if err != nil {
			return err
		}
		result, _ = info.Result.(types.HostDatastoreBrowserSearchResults)
		return nil
	})
	switch {
	case err == nil:
	case fault.Is(err, &types.FileNotFound{}):
		return there, nil
	case fault.Is(err, &types.NoPermission{}):
		return nil, fmt.Errorf("%s: the account lacks Datastore.Browse there", d.name)
	default:
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	for _, f := range result.File {
		there[f.GetFileInfo().Path] = true
	}
	return there, nil
}

// state says where a volume's disk is, in the words of [Volume].
func (d *disk) state() (vcenter, state string) {
	switch {
	case d == nil || len(d.vcenters) == 0:
		return "", "unknown: no vCenter that answers has its datastore"
	case len(d.at) > 0:
		vcenter, _, _ = strings.Cut(d.at[0], " ")
		if len(d.at) > 1 {
			return one(d.vcenters), "found"
		}
		return vcenter, "found"
	case len(d.unknown) > 0:
		return one(d.vcenters), "unknown: " + strings.Join(d.unknown, "; ")
	}
	return one(d.vcenters), "missing"
}

// one is the only element; empty where there are several.
func one(all []string) string {
	if all = slices.Compact(slices.Sorted(slices.Values(all))); len(all) == 1 {
		return all[0]
	}
	return ""
}
