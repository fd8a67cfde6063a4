package check

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

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
