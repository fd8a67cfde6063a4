package embedded

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// The policies are installed once and bound, and every refusal says what to use in place of a Service.
func TestRefuseServices(t *testing.T) {
	client := fake.NewClientset()
	for range 2 { // the second time after a restart of the control plane
		if err := refuseServices(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	admission := client.AdmissionregistrationV1()
	installed, err := admission.ValidatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(installed.Items) != 2 {
		t.Fatalf("policies %+v, %v", installed, err)
	}
	for _, p := range installed.Items {
		b, err := admission.ValidatingAdmissionPolicyBindings().Get(t.Context(), p.Name, metav1.GetOptions{})
		if err != nil || b.Spec.PolicyName != p.Name {
			t.Errorf("binding %+v, %v", b, err)
		}
		for _, v := range p.Spec.Validations {
			if !strings.Contains(v.Message+v.MessageExpression, "set clientConfig.url") {
				t.Errorf("%q does not name the way out", v.Message+v.MessageExpression)
			}
		}
	}
}
