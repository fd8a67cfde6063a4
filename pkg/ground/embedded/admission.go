package embedded

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// wayOut ends the message of a refusal.
const wayOut = "clientConfig.service cannot be reached: the embedded control plane has no service network, so a call to a Service would time out; " +
	"run the server on this machine and set clientConfig.url (with caBundle)"

// refuseServices installs the admission policies that refuse webhooks with a service: in admission configurations and in the
// conversions of CustomResourceDefinitions. A policy that exists is kept: the control plane may have restarted.
func refuseServices(ctx context.Context, client kubernetes.Interface) error {
	admission := client.AdmissionregistrationV1()
	for _, p := range policies() {
		_, err := admission.ValidatingAdmissionPolicies().Create(ctx, p, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("admission policy %s: %w", p.Name, err)
		}
		_, err = admission.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: p.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("binding of admission policy %s: %w", p.Name, err)
		}
	}
	return nil
}

// policies returns a policy for each API group: one for both has type warnings in its status.
func policies() []*admissionv1.ValidatingAdmissionPolicy {
	return []*admissionv1.ValidatingAdmissionPolicy{
		policy("webhook-service.vsphere-sandbox", admissionv1.GroupName, []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
			admissionv1.Validation{
				Expression:        `!has(object.webhooks) || !object.webhooks.exists(w, has(w.clientConfig.service))`,
				MessageExpression: `"webhook " + object.webhooks.filter(w, has(w.clientConfig.service))[0].name + ": ` + wayOut + `"`,
			}),
		policy("conversion-service.vsphere-sandbox", "apiextensions.k8s.io", []string{"customresourcedefinitions"},
			admissionv1.Validation{
				Expression: `!(has(object.spec.conversion) && has(object.spec.conversion.webhook) && ` +
					`has(object.spec.conversion.webhook.clientConfig) && has(object.spec.conversion.webhook.clientConfig.service))`,
				Message: "conversion webhook: " + wayOut,
			}),
	}
}

func policy(name, group string, resources []string, v admissionv1.Validation) *admissionv1.ValidatingAdmissionPolicy {
	fail := admissionv1.Fail
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources},
				},
			}}},
			Validations: []admissionv1.Validation{v},
		},
	}
}
