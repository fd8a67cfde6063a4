package embedded

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// admissionPolicy is the name of the policy and of its binding.
const admissionPolicy = "no-service-network.vsphere-sandbox"

// wayOut ends the message of a refusal.
const wayOut = "the embedded control plane has no service network, so a call to a Service would time out; run the server on this machine and set clientConfig.url (with caBundle)"

// refuseServices installs the admission policy that refuses webhooks with a service: in admission configurations and in the
// conversions of CustomResourceDefinitions. A policy that exists is kept: the control plane may have restarted.
func refuseServices(ctx context.Context, client kubernetes.Interface) error {
	admission := client.AdmissionregistrationV1()
	_, err := admission.ValidatingAdmissionPolicies().Create(ctx, policy(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("admission policy %s: %w", admissionPolicy, err)
	}
	_, err = admission.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: admissionPolicy},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: admissionPolicy, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("binding of admission policy %s: %w", admissionPolicy, err)
	}
	return nil
}

func policy() *admissionv1.ValidatingAdmissionPolicy {
	const (
		webhooks   = `has(object.webhooks) && object.webhooks.exists(w, has(w.clientConfig.service))`
		conversion = `has(object.spec) && has(object.spec.conversion) && has(object.spec.conversion.webhook) && ` +
			`has(object.spec.conversion.webhook.clientConfig) && has(object.spec.conversion.webhook.clientConfig.service)`
	)
	fail := admissionv1.Fail
	rule := func(group string, resources ...string) admissionv1.NamedRuleWithOperations {
		return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources},
		}}
	}
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: admissionPolicy},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{
				rule(admissionv1.GroupName, "validatingwebhookconfigurations", "mutatingwebhookconfigurations"),
				rule("apiextensions.k8s.io", "customresourcedefinitions"),
			}},
			Validations: []admissionv1.Validation{
				{
					Expression:        `!(` + webhooks + `)`,
					MessageExpression: `"webhook " + object.webhooks.filter(w, has(w.clientConfig.service))[0].name + ": clientConfig.service cannot be reached: ` + wayOut + `"`,
				},
				{
					Expression: `!(` + conversion + `)`,
					Message:    "conversion webhook: clientConfig.service cannot be reached: " + wayOut,
				},
			},
		},
	}
}
