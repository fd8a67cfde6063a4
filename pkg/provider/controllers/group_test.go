package controllers_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"
	ccmconfig "k8s.io/cloud-provider/app/config"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/controllers"
)

// fullCloud has load balancers and routes.
type fullCloud struct{ *fakeCloud }

func (fullCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, true }
func (fullCloud) Routes() (cloudprovider.Routes, bool)             { return nil, true }

func TestInitializers(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cloud cloudprovider.Interface
		opts  controllers.Options
		want  []string
	}{
		{"nodes only", newFakeCloud(), controllers.Options{}, []string{"cloud-node-controller", "cloud-node-lifecycle-controller"}},
		{
			"with labels", newFakeCloud(),
			controllers.Options{RelabelZones: true},
			[]string{"cloud-node-controller", "cloud-node-lifecycle-controller", "node-relabel"},
		},
		{
			"all there are",
			fullCloud{newFakeCloud()},
			controllers.Options{RelabelZones: true},
			controllers.Names(),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := (&ccmconfig.Config{}).Complete()
			got := slices.Sorted(maps.Keys(controllers.Initializers(c, tc.cloud, nil, tc.opts)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("controllers (-want +got):\n%s", diff)
			}
		})
	}
}
