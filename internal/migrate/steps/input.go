package steps

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// Input is what a plan is made of. Report, Config and Old are mandatory.
type Input struct {
	// Report is what was found, and Config what the old file is converted to.
	Report *check.Report
	Config *migrate.Migration
	// Old is the name of the old file, and Folder that of the new ones.
	Old, Folder string
	// Datastores are the names of datastores in the old file, as the function of that name finds them.
	Datastores []string
	// ClusterID and Force are those that Config was made with.
	ClusterID string
	Force     bool
	// Kubeconfig, Context and Sandbox say how the cluster is named to programs; one that is empty is not named.
	Kubeconfig, Context, Sandbox string
	// VCenters and CSI are the files of --vcenter-config and --csi-vcenter-config, and Choice the flags that chose VMs.
	VCenters, CSI string
	Choice        []string
}

// Datastores are the names of datastores that an old file has.
func Datastores(old migrate.Source) []string {
	var all []string
	sections, _ := config.ReadINI(old.Name, old.Data) // what is wrong with it, Convert tells
	for _, s := range sections {
		for _, e := range s.Entries {
			name := strings.ToLower(s.Name) + "." + strings.ToLower(e.Key)
			if value := strings.TrimSpace(e.Value); value != "" && (name == "workspace.default-datastore" || name == "global.datastore") {
				all = append(all, value)
			}
		}
	}
	return all
}
