package sandbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
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
			"no CCM", func(o *Options) { o.CCM = noCCM() },
			"event log, control API, control plane, vCenters, inventory watch, faults, API server, node watch, cloud config, no cloud controller manager, nodes, nodes ready",
		},
		{
			"vCenters only", func(o *Options) { o.VCentersOnly = true },
			"event log, control API, vCenters, inventory watch, faults",
		},
		{
			"others' nodes", func(o *Options) { o.Cluster.Theirs = &Theirs{} },
			"event log, control API, cluster, vCenters, inventory watch, faults, API server, node watch, cloud config, cloud controller manager, nodes, cloud controller manager healthy",
		},
		{
			"others' nodes, watched", func(o *Options) { o.Cluster.Theirs, o.CCM = &Theirs{}, noCCM() },
			"event log, control API, cluster, vCenters, inventory watch, faults, API server, node watch, nodes",
		},
		{
			"kind", func(o *Options) { o.Cluster.Kind, o.CSI.Enabled = &Kind{}, true },
			"event log, control API, kind cluster, vCenters, inventory watch, API server, faults, node watch, nodes, cloud config, cloud controller manager, storage, initialization, volumes",
		},
		{
			"kind without volumes", func(o *Options) { o.Cluster.Kind = &Kind{} },
			"event log, control API, kind cluster, vCenters, inventory watch, API server, faults, node watch, nodes, cloud config, cloud controller manager, initialization",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := idle(t).opts
			tc.change(&o)
			var names []string
			for _, st := range New(o).steps() {
				names = append(names, st.name)
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
	o.Cluster.Kind = &Kind{}
	for _, st := range New(o).steps() {
		patient := st.name == "kind cluster" || st.name == "API server" || st.name == "initialization"
		if st.patient != patient {
			t.Errorf("%s: patient is %t", st.name, st.patient)
		}
	}
}

// A cloud controller manager is pods where it can be: a program of this machine has no image.
func TestCCMDeployed(t *testing.T) {
	program := ccm.Program{Path: "/bin/ccm", Source: "./ccm"}
	for _, tc := range []struct {
		name string
		kind bool
		ccm  CCM
		want bool
	}{
		{"embedded", false, CCM{}, false},
		{"built-in", true, CCM{}, true},
		{"program", true, CCM{Program: program}, false},
		{"with a manifest", true, CCM{Program: program, Manifest: []byte("kind: DaemonSet")}, true},
		{"watched", true, CCM{Watch: "/bin/ccm"}, false},
	} {
		o := idle(t).opts
		o.CCM = tc.ccm
		if tc.kind {
			o.Cluster.Kind = &Kind{}
		}
		if got := New(o).ccmDeployed(); got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
}

func TestMoved(t *testing.T) {
	var names []string
	for _, st := range moved([]step{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}}, "c", "b") {
		names = append(names, st.name)
	}
	if !slices.Equal(names, []string{"a", "c", "b", "d"}) {
		t.Error(names)
	}
}
