package sandbox

import (
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/incluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
)

// What the order of the steps promises to those that read what others have set.
func TestSteps(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{
			"embedded", func(*Options) {},
			"event log, control API, control plane, vCenters, inventory watch, faults, API server, node watch, cloud config, cloud controller manager, nodes, initialization",
		},
		{
			"no CCM", func(o *Options) { o.CCM = CCM{None: true} },
			"event log, control API, control plane, vCenters, inventory watch, faults, API server, node watch, cloud config, no cloud controller manager, nodes, nodes ready",
		},
		{
			"vCenters only", func(o *Options) { o.VCentersOnly = true },
			"event log, control API, vCenters, inventory watch, faults",
		},
		{
			"existing", func(o *Options) { o.Cluster.Existing = &existing.Options{} },
			"event log, control API, cluster, vCenters, inventory watch, faults, API server, node watch, cloud config, cloud controller manager, nodes, cloud controller manager healthy",
		},
		{
			"existing, watched", func(o *Options) { o.Cluster.Existing, o.CCM = &existing.Options{}, CCM{None: true} },
			"event log, control API, cluster, vCenters, inventory watch, faults, API server, node watch, nodes",
		},
		{
			"in a cluster", func(o *Options) { o.Cluster.InCluster = &incluster.Options{} },
			"event log, control API, cluster, vCenters, inventory watch, API server, faults, node watch, nodes, cloud config, cloud controller manager, initialization",
		},
		{
			"embedded with volumes", func(o *Options) { o.CSI.Enabled = true },
			"event log, control API, control plane, vCenters, inventory watch, faults, API server, node watch, cloud config, cloud controller manager, storage, nodes, initialization, volumes",
		},
		{
			"kind", func(o *Options) { o.Cluster.Kind, o.CSI.Enabled = &kind.Options{}, true },
			"event log, control API, kind cluster, vCenters, inventory watch, API server, faults, node watch, nodes, cloud config, cloud controller manager, storage, initialization, volumes",
		},
		{
			"kind without volumes", func(o *Options) { o.Cluster.Kind = &kind.Options{} },
			"event log, control API, kind cluster, vCenters, inventory watch, API server, faults, node watch, nodes, cloud config, cloud controller manager, initialization",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := idle(t).opts
			tc.change(&o)
			var names []string
			for _, st := range New(o).steps() {
				names = append(names, st.Name)
			}
			if got := strings.Join(names, ", "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// What takes a registry its time is not cut short as other steps are.
func TestKindIsPatient(t *testing.T) {
	o := idle(t).opts
	o.Cluster.Kind = &kind.Options{}
	for _, st := range New(o).steps() {
		patient := st.Name == "kind cluster" || st.Name == "API server" || st.Name == "initialization"
		if st.NoTimeout != patient {
			t.Errorf("%s: patient is %t", st.Name, st.NoTimeout)
		}
	}
}

// Which options go together.
func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		o    Options
		want string
	}{
		"embedded":                    {Options{CSI: CSI{Enabled: true}}, ""},
		"kind, real":                  {Options{Cluster: Cluster{Kind: &kind.Options{}}, Real: &real.Options{}}, ""},
		"existing":                    {Options{Cluster: Cluster{Existing: &existing.Options{}}, Real: &real.Options{}}, ""},
		"existing, simulated":         {Options{Cluster: Cluster{Existing: &existing.Options{}}}, "none are configured"},
		"existing, volumes":           {Options{Cluster: Cluster{Existing: &existing.Options{}}, Real: &real.Options{}, CSI: CSI{Enabled: true}}, "no CSI driver"},
		"in a cluster":                {Options{Cluster: Cluster{InCluster: &incluster.Options{}}}, ""},
		"in a cluster, volumes":       {Options{Cluster: Cluster{InCluster: &incluster.Options{}}, CSI: CSI{Enabled: true}}, "no CSI driver"},
		"in a cluster, real":          {Options{Cluster: Cluster{InCluster: &incluster.Options{}}, Real: &real.Options{}}, "no sandbox in a cluster"},
		"in a cluster, watched":       {Options{Cluster: Cluster{InCluster: &incluster.Options{}}, CCM: CCM{Watch: "bin/ccm"}}, "built-in"},
		"in a cluster, another's CCM": {Options{Cluster: Cluster{InCluster: &incluster.Options{}}, CCM: CCM{Program: program.Program{Path: "/x"}}}, "built-in"},
	} {
		err := tc.o.check()
		if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
