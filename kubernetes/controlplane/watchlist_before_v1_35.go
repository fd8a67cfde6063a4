//go:build before_v1_35

package controlplane

import (
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/component-base/featuregate"
)

// The controller manager of v1.34 changes the default of this gate when its flags are made, and panics if another component of the
// process, such as the API server, has made flags before. With the same default from the start it changes nothing.
// See cmd/kube-controller-manager/app/options/options.go of v1.34.
func init() {
	err := utilfeature.DefaultMutableFeatureGate.OverrideDefaultAtVersion(
		featuregate.Feature(clientfeatures.WatchListClient), true, version.MajorMinor(1, 34))
	if err != nil {
		panic(err)
	}
}
