package incluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pod that is replaced leaves everything to the next; one whose Deployment goes, or is to have no pods, takes it away.
func TestContinues(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		all  []appsv1.Deployment
		want bool
	}{
		"none":      {nil, false},
		"one":       {[]appsv1.Deployment{{}}, true},
		"ends":      {[]appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}}, false},
		"of none":   {[]appsv1.Deployment{{Spec: appsv1.DeploymentSpec{Replicas: new(int32)}}}, false},
		"of a few":  {[]appsv1.Deployment{{Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}}}, true},
		"ends, one": {[]appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}, {}}, true},
	} {
		if got := wantsPods(tc.all); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
