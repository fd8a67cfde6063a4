package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// What is rendered must be understood by the strict reader of the cloud provider.
func TestCloudConfig(t *testing.T) {
	type tenant struct {
		Server      string
		Port        int
		Datacenters []string
	}
	for scenario, want := range map[string]struct {
		datacenters map[string][]string
		labels      config.Labels
	}{
		"single": {datacenters: map[string][]string{"vc": {"/dc"}}},
		"zones-us-eu": {
			datacenters: map[string][]string{"us": {"/dcwest", "/dceast"}, "eu": {"/dceu"}},
			labels:      config.Labels{Region: "k8s-region", Zone: "k8s-zone"},
		},
	} {
		t.Run(scenario, func(t *testing.T) {
			s := withVCenters(t, scenario)
			conf, err := s.config.RenderFile()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(s.vcenterCA()), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.vcenterCA(), s.vcenters[0].Certificate(), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := config.Load("vsphere.conf", conf)
			if err != nil {
				t.Fatalf("%v\n%s", err, conf)
			}
			if diff := cmp.Diff(want.labels, got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			wantTenants, tenants := map[string]tenant{}, map[string]tenant{}
			for _, vc := range s.vcenters {
				wantTenants[vc.Name()] = tenant{vc.Host(), vc.Port(), want.datacenters[vc.Name()]}
			}
			for _, vc := range got.VCenters {
				tenants[vc.Tenant] = tenant{vc.Server, vc.Port, vc.Datacenters}
				if vc.InsecureFlag || vc.CAFile != s.vcenterCA() || vc.User != "" || vc.Password != "" {
					t.Errorf("%+v", vc)
				}
				if diff := cmp.Diff(config.SecretRef{Namespace: "kube-system", Name: "vsphere-cloud-secret"}, vc.Secret); diff != "" {
					t.Errorf("secret (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(wantTenants, tenants); diff != "" {
				t.Errorf("vCenters (-want +got):\n%s", diff)
			}
		})
	}
}
