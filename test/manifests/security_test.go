package manifests

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// The pod keeps to the "restricted" Pod Security Standard, as the API server's admission sees it, but for the node's
// network and the probes on its loopback address.
func TestPodSecurity(t *testing.T) {
	base := pod(t, kustomized(t))
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	var got []string
	for _, result := range evaluator.EvaluatePod(restricted, &base.ObjectMeta, &base.Spec) {
		if !result.Allowed {
			got = append(got, result.ForbiddenReason+": "+result.ForbiddenDetail)
		}
	}
	want := []string{
		"host namespaces: hostNetwork=true",
		`probe or lifecycle host: container "vsphere-cloud-controller-manager" uses probe or lifecycle host "127.0.0.1"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("forbidden (-want +got):\n%s", diff)
	}
}

// What no standard asks for: the root file system cannot be written, the user has no name on the node, the node's file
// system is not mounted.
func TestPodIsHardened(t *testing.T) {
	spec := pod(t, kustomized(t)).Spec
	c := spec.Containers[0].SecurityContext
	if len(spec.Containers) != 1 || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
		t.Error("the root file system can be written")
	}
	if user := spec.SecurityContext.RunAsUser; user == nil || *user < 10000 {
		t.Error("runs as a user whom a node may have")
	}
	for _, v := range spec.Volumes {
		if v.HostPath != nil {
			t.Errorf("volume %s is of the node", v.Name)
		}
	}
	if len(spec.Containers[0].Ports) > 0 {
		t.Error("ports of a pod on the node's network are the node's")
	}
}

// It runs before anything else does: on a tainted node, without pod network and cluster DNS, and is not evicted for others.
func TestPodRunsFirst(t *testing.T) {
	spec := pod(t, kustomized(t)).Spec
	if !spec.HostNetwork || spec.DNSPolicy != corev1.DNSDefault || spec.PriorityClassName != "system-node-critical" {
		t.Errorf("network %v, DNS %s, priority %s", spec.HostNetwork, spec.DNSPolicy, spec.PriorityClassName)
	}
	for _, taint := range []corev1.Taint{
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node-role.kubernetes.io/master", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute},
	} {
		if !slices.ContainsFunc(spec.Tolerations, func(t corev1.Toleration) bool { return tolerates(t, taint) }) {
			t.Errorf("taint %s:%s keeps it away", taint.Key, taint.Effect)
		}
	}
}

func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	return t.Key == taint.Key && (t.Effect == "" || t.Effect == taint.Effect) &&
		(t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
}
