package check

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// judgeVolumes checks whether the CSI driver can take over the volumes of the in-tree provider.
func (c *run) judgeVolumes() {
	all := c.report.Volumes
	if len(all) == 0 {
		c.pass("pv", cluster, "there is no volume of the in-tree provider")
		c.judgeInline()
		return
	}
	c.locate()
	used, attached := 0, 0
	for _, v := range all {
		used, attached = used+min(1, len(v.Pods)), attached+min(1, len(v.Attached))
	}
	c.pass("pv", cluster, "%s of the in-tree provider: %d used by pods, %d attached", count(len(all), "volume"), used, attached)
	c.judgePaths()
	c.judgeDisks()
	loose := c.volumes(func(v Volume) string {
		if v.Phase == string(corev1.VolumeBound) {
			return ""
		}
		return v.Phase
	})
	c.each(Finding{
		Check: "pv-claims", Verdict: Warn, Where: cluster, Why: "no claim uses them, and a Released volume may have data that you still want",
		Try: "decide about each before the migration: kubectl get pv NAME -o yaml",
	}, loose, len(all), "volume", "all are bound to a claim", "are not bound to a claim")
	c.judgeTopology()
	c.judgeInline()
}

// volumes are those of which something is said.
func (c *run) volumes(say func(Volume) string) []string {
	var found []string
	for _, v := range c.report.Volumes {
		if text := say(v); text != "" {
			found = append(found, v.Name+" ("+text+")")
		}
	}
	return found
}

// locate takes what is known of disks into the report.
func (c *run) locate() {
	for i := range c.report.Volumes {
		v := &c.report.Volumes[i]
		name, file, err := split(v.Path)
		if err != nil {
			v.Disk = "unknown: " + err.Error()
			continue
		}
		v.VCenter, v.Disk = c.disks[name+"\n"+file].state()
	}
}

// judgePaths looks for volumes that cannot be translated, and for disks that several of them are.
func (c *run) judgePaths() {
	by := map[string][]string{}
	var bad []string
	for i, v := range c.report.Volumes {
		by[v.Path] = append(by[v.Path], v.Name)
		if _, _, err := split(v.Path); err != nil {
			bad = append(bad, fmt.Sprintf("%s (%v)", v.Name, err))
		} else if err := c.sources[i].err; err != nil {
			bad = append(bad, fmt.Sprintf("%s (%v)", v.Name, err))
		}
	}
	c.each(Finding{
		Check: "pv-translation", Verdict: Fail, Where: cluster, Why: "the CSI driver gets a path that it does not understand, and no pod gets the volume",
		Try: "set the reclaim policy to Retain, and recreate the volume with the right path: kubectl get pv NAME -o yaml",
	}, bad, len(c.report.Volumes), "volume", "all can be handed to the CSI driver, by the paths of their disks", "cannot be handed to the CSI driver")
	twice := c.volumes(func(v Volume) string {
		if len(by[v.Path]) > 1 {
			return v.Path
		}
		return ""
	})
	if len(twice) > 0 {
		c.each(Finding{
			Check: "pv-twice", Verdict: Warn, Where: cluster, Why: "the CSI driver takes them for one volume, which is on one node at a time",
			Try: "keep one of them: kubectl delete pv NAME, where its reclaim policy is Retain",
		}, twice, len(c.report.Volumes), "volume", "", "have a disk that another one has, too")
	}
}

// judgeDisks reports whether the disks are there.
func (c *run) judgeDisks() {
	state := func(prefix string) []string {
		return c.volumes(func(v Volume) string {
			if !strings.HasPrefix(v.Disk, prefix) {
				return ""
			}
			return v.Path + strings.TrimPrefix(v.Disk, prefix)
		})
	}
	missing, unknown := state("missing"), state("unknown")
	if len(missing) > 0 || len(unknown) == 0 {
		c.each(Finding{
			Check: "pv-disks", Verdict: Fail, Where: cluster, Why: "there is nothing to mount: a pod that wants the volume does not start",
			Try: "look for the file in other folders and datastores (govc datastore.ls -ds DATASTORE kubevols), or give the volume up",
		}, missing, len(c.report.Volumes), "volume", "the disks of all are where they say", "have no disk where they say")
	}
	if len(unknown) > 0 {
		c.each(Finding{
			Check: "pv-disks", Verdict: Warn, Where: cluster, Why: "whether their data is there is not known",
			Try: "give the account Datastore.Browse on the datastores, and name every vCenter that has volumes",
		}, unknown, len(c.report.Volumes), "volume", "", "have a disk that could not be looked for")
	}
	several := c.volumes(func(v Volume) string {
		name, file, _ := split(v.Path)
		if d := c.disks[name+"\n"+file]; d != nil && len(d.at) > 1 {
			return v.Path + " in " + strings.Join(d.at, ", ")
		}
		return ""
	})
	if len(several) > 0 {
		c.each(Finding{
			Check: "pv-datastores", Verdict: Fail, Where: cluster, Why: "a path names no vCenter and no datacenter: the CSI driver may take the wrong disk",
			Try: "give each datastore another name, and find out which of the disks has the data",
		}, several, len(c.report.Volumes), "volume", "", "have a path that is a file in several datastores")
	}
}

// judgeTopology sees whether a node may have each volume, by the labels that are wanted of it after the translation.
func (c *run) judgeTopology() {
	driver := false
	for _, n := range c.report.Nodes {
		driver = driver || n.Driver
	}
	var bound, lost []string
	for i, v := range c.report.Volumes {
		if len(v.Topology) == 0 || c.sources[i].err != nil {
			continue
		}
		bound = append(bound, v.Name)
		if !slices.ContainsFunc(c.objects.nodes, func(n corev1.Node) bool { return storagehelpers.CheckNodeAffinity(c.sources[i].is, n.Labels) == nil }) {
			lost = append(lost, v.Name)
		}
	}
	switch {
	case len(bound) == 0:
		c.pass("pv-topology", cluster, "no volume is bound to a zone")
	case len(lost) == 0:
		c.pass("pv-topology", cluster, "%s bound to a zone: a node has the labels that the CSI driver's volumes want for each", count(len(bound), "volume"))
	case driver:
		c.each(Finding{
			Check: "pv-topology", Verdict: Fail, Where: cluster, Why: "Kubernetes wants topology.csi.vmware.com/zone and /region of a node then, and pods with these volumes stay Pending",
			Try: "name the tag categories zone and region in the driver's topology-categories, or recreate the volume without node affinity and zone labels",
		}, lost, len(c.report.Volumes), "volume", "", "are bound to a zone, and no node has the labels that they want once translated")
	default:
		c.each(Finding{
			Check: "pv-topology", Verdict: Warn, Where: cluster, Why: "Kubernetes wants topology.csi.vmware.com/zone and /region of a node, which the driver sets only where tag categories are called zone and region",
			Try: "see, on the first node that has the driver, which labels it got: kubectl get csinode NODE -o yaml",
		}, lost, len(c.report.Volumes), "volume", "", "are bound to a zone, which is asked for by other labels once the volume is translated")
	}
}

// judgeInline says of pods that name a disk themselves.
func (c *run) judgeInline() {
	if len(c.report.Inline) == 0 {
		return
	}
	c.add(Finding{
		Check: "inline-volumes", Verdict: Warn, Where: cluster, Found: count(len(c.report.Inline), "pod") + " with a disk of vSphere in its own specification: " + shorten.List(c.report.Inline, shown),
		Why: "Kubernetes hands these to the CSI driver too, and only the pod refers to them", Try: "create a PersistentVolume for each, and a claim for the pod", Objects: c.report.Inline,
	})
}
