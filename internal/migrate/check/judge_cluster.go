package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// judgeCluster says what could be read, and which provider runs as far as it can be seen.
func (c *run) judgeCluster() {
	if len(c.objects.unread) > 0 {
		c.add(Finding{
			Check: "cluster-rights", Verdict: Warn, Where: cluster, Found: "not everything can be read: " + strings.Join(c.objects.unread, "; "),
			Why: "what is said below is not about these", Try: "name a context whose user may get and list them: --context NAME", Objects: c.objects.unread,
		})
	}
	c.judgeVersion()
	c.judgeFlags()
	c.judgeManager()
}

// typeOfCCM begins the instance type that a cloud controller manager for vSphere gives a node; the in-tree provider gave none.
const typeOfCCM = "vsphere-vm."

// judgeManager looks for a cloud controller manager: its lease, or, where it runs without one, what it did to nodes.
func (c *run) judgeManager() {
	typed := 0
	for i := range c.objects.nodes {
		if strings.HasPrefix(c.objects.nodes[i].Labels[corev1.LabelInstanceTypeStable], typeOfCCM) {
			typed++
		}
	}
	switch {
	case c.objects.ccm != "":
		c.pass("ccm", cluster, "a cloud controller manager leads: %s", c.objects.ccm)
	case typed > 0:
		c.pass("ccm", cluster, "a cloud controller manager has initialized %d of %d nodes; it holds no lease", typed, len(c.objects.nodes))
	default:
		c.add(Finding{
			Check: "ccm", Verdict: Warn, Where: cluster, Found: "no cloud controller manager holds the lease kube-system/" + leaseOfCCM + ", and no node has its instance type",
			Why: "nodes that start for an external cloud provider are never initialized", Try: "install it before a kubelet gets --cloud-provider=external: vsphere-sandbox migrate plan FILE",
		})
	}
}

// Translation of in-tree volumes: to be asked for, on unless it is refused, and without a choice.
const (
	translationByDefault = "1.25"
	translationAlways    = "1.26"
)

func (c *run) judgeVersion() {
	v, err := version.ParseGeneric(c.objects.version)
	switch {
	case err != nil:
		c.add(Finding{
			Check: "kubernetes-version", Verdict: Warn, Where: cluster, Found: fmt.Sprintf("version %q of the API server is not known", c.objects.version),
			Why: "which feature gates translate volumes depends on it", Try: "kubectl version",
		})
	case v.AtLeast(version.MustParseGeneric(translationAlways)):
		c.pass("kubernetes-version", cluster, "%s hands volumes of the in-tree provider to the CSI driver, always", c.objects.version)
	case v.AtLeast(version.MustParseGeneric(translationByDefault)):
		c.pass("kubernetes-version", cluster, "%s hands volumes of the in-tree provider to the CSI driver, unless CSIMigrationvSphere is false", c.objects.version)
	default:
		c.add(Finding{
			Check: "kubernetes-version", Verdict: Warn, Where: cluster,
			Found: c.objects.version + " hands volumes of the in-tree provider to the CSI driver only behind feature gates",
			Why:   "volumes stay with the in-tree provider", Try: "set --feature-gates=CSIMigration=true,CSIMigrationvSphere=true where the plan says so, or upgrade to 1.26 first",
		})
	}
}

// judgeFlags looks for --cloud-provider in the pods of the control plane, if it runs in pods.
func (c *run) judgeFlags() {
	seen := map[string]string{} // flag by component and node
	for i := range c.objects.pods {
		p := &c.objects.pods[i]
		if p.Namespace != "kube-system" {
			continue
		}
		for _, part := range []string{"kube-controller-manager", "kube-apiserver"} {
			if p.Labels["component"] == part || strings.HasPrefix(p.Name, part+"-") {
				seen[part+" on "+p.Spec.NodeName] = cloudProvider(p)
			}
		}
	}
	var inTree, fine []string
	for _, who := range slices.Sorted(maps.Keys(seen)) {
		if seen[who] == "vsphere" {
			inTree = append(inTree, who)
		} else {
			fine = append(fine, who)
		}
	}
	c.inTree = len(inTree) > 0
	switch {
	case len(seen) == 0:
		c.add(Finding{
			Check: "control-plane-flags", Verdict: Warn, Where: cluster, Found: "the control plane runs in no pods that can be seen",
			Why: "whether it runs the in-tree provider is not known", Try: "look for --cloud-provider in the command line of kube-controller-manager",
		})
	case len(inTree) > 0:
		c.add(Finding{
			Check: "control-plane-flags", Verdict: Warn, Where: cluster, Found: "--cloud-provider=vsphere: " + shorten.List(inTree, shown),
			Why: "the in-tree provider is in charge there, and is not there any more in newer releases of Kubernetes", Try: "vsphere-sandbox migrate plan FILE", Objects: inTree,
		})
	default:
		c.pass("control-plane-flags", cluster, "no --cloud-provider=vsphere: %s", shorten.List(fine, shown))
	}
}

// cloudProvider is the value of the flag in a pod's command line; empty when it is not there.
func cloudProvider(p *corev1.Pod) string {
	for _, k := range p.Spec.Containers {
		words := slices.Concat(k.Command, k.Args)
		for i, w := range words {
			if value, ok := strings.CutPrefix(w, "--cloud-provider="); ok {
				return value
			}
			if w == "--cloud-provider" && i+1 < len(words) {
				return words[i+1]
			}
		}
	}
	return ""
}

// judgeClasses says which StorageClasses make volumes of the in-tree provider.
func (c *run) judgeClasses() {
	var all []string
	for _, k := range c.report.Classes {
		all = append(all, k.Name)
	}
	if len(all) == 0 {
		c.pass("storage-classes", cluster, "%s: none makes volumes of the in-tree provider", count(len(c.objects.classes), "class"))
		return
	}
	c.each(Finding{
		Check: "storage-classes", Verdict: Warn, Where: cluster, Why: "their volumes are of the old kind for as long as they live, and can be neither grown nor snapshotted by the CSI driver",
		Try: "convert them: vsphere-sandbox migrate config OLD --out FOLDER --manifests FILE",
	}, all, len(c.objects.classes), "class", "", "are of kubernetes.io/vsphere-volume")
}

// migrationSince is the vCenter that the translation of volumes wants, by the version of its API: 7.0 Update 2.
const migrationSince = "7.0.2"

// judgeDriver says how far the CSI driver has come, and what keeps it from old volumes.
func (c *run) judgeDriver() {
	var with, migrated []string
	for _, n := range c.report.Nodes {
		if n.Driver {
			with = append(with, n.Name)
		}
		if n.Migrated {
			migrated = append(migrated, n.Name)
		}
	}
	of := count(len(c.report.Nodes), "node")
	if c.objects.driver && len(with) == len(c.report.Nodes) {
		c.pass("csi-driver", cluster, "%s is on all of %s", names.Driver, of)
	} else {
		c.add(Finding{
			Check: "csi-driver", Verdict: Warn, Where: cluster, Found: fmt.Sprintf("%s is on %d of %s%s", names.Driver, len(with), of, without(c.objects.driver)),
			Why: "pods with volumes cannot run on the others once volumes are the driver's", Try: "install it as the plan says: vsphere-sandbox migrate plan FILE",
		})
	}
	if len(c.report.Volumes)+len(c.report.Inline) == 0 {
		return
	}
	if len(migrated) == len(c.report.Nodes) {
		c.pass("csi-migrated", cluster, "the kubelets of all of %s hand volumes of the in-tree provider to the CSI driver", of)
	} else {
		c.add(Finding{
			Check: "csi-migrated", Verdict: Warn, Where: cluster,
			Found: fmt.Sprintf("the kubelets of %d of %s hand volumes of the in-tree provider to the CSI driver", len(migrated), of),
			Why:   "the others mount them as before, if they still can", Try: "drain and restart the others one by one, as the plan says: vsphere-sandbox migrate plan FILE",
		})
	}
	c.judgeMigration()
}

func without(driver bool) string {
	if driver {
		return ""
	}
	return ", and there is no CSIDriver"
}

// judgeMigration looks for what keeps the driver from volumes of the in-tree provider.
func (c *run) judgeMigration() {
	if n := len(c.in.VCenters.VCenters); n > 1 {
		c.add(Finding{
			Check: "csi-migration-vcenters", Verdict: Warn, Where: "vcenters", Found: fmt.Sprintf("there are %d vCenters, and volumes of the in-tree provider", n),
			Why: "a path names no vCenter: the CSI driver of upstream translates volumes of one vCenter only", Try: "give the CSI driver one vCenter until the data of these volumes is copied to new ones",
		})
	}
	var old []string
	for _, s := range c.vcenters {
		api, err := version.ParseGeneric(s.api)
		if err == nil && !api.AtLeast(version.MustParseGeneric(migrationSince)) {
			old = append(old, s.name+" ("+s.api+")")
		}
	}
	slices.Sort(old)
	if len(old) > 0 {
		c.add(Finding{
			Check: "csi-migration-version", Verdict: Fail, Where: "vcenters", Found: "volumes of the in-tree provider, and a vCenter older than 7.0 Update 2: " + strings.Join(old, ", "),
			Why: "the CSI driver takes over no volumes there", Try: "upgrade vCenter and hosts to 7.0 Update 2 or newer", Objects: old,
		})
	}
}
