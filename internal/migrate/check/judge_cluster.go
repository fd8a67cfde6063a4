package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
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
			Why: "nobody initializes nodes that are started for an external cloud provider", Try: "install it before a kubelet gets --cloud-provider=external: vsphere-sandbox migrate plan FILE",
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
			Found: c.objects.version + " hands volumes of the in-tree provider to the CSI driver only where it is told to",
			Why:   "volumes stay with the in-tree provider", Try: "set --feature-gates=CSIMigration=true,CSIMigrationvSphere=true where the plan says so, or upgrade to 1.26 first",
		})
	}
}

// judgeFlags looks for --cloud-provider of the control plane's pods, where it runs in pods that are to be seen.
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
