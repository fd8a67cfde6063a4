package csi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

const manifest = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: theirs, namespace: ns}
---
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: r}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
---
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: of-nodes}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
---
kind: Role
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: r, namespace: ns}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
kind: ClusterRoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: b}
subjects: [{kind: ServiceAccount, name: theirs, namespace: ns}]
roleRef: {kind: ClusterRole, name: r, apiGroup: rbac.authorization.k8s.io}
---
kind: ClusterRoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: n}
subjects: [{kind: ServiceAccount, name: node, namespace: ns}]
roleRef: {kind: ClusterRole, name: of-nodes, apiGroup: rbac.authorization.k8s.io}
---
kind: RoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: b, namespace: ns}
subjects: [{kind: ServiceAccount, name: theirs, namespace: ns}]
roleRef: {kind: Role, name: r, apiGroup: rbac.authorization.k8s.io}
---
kind: ConfigMap
apiVersion: v1
metadata: {name: internal-feature-states.csi.vsphere.vmware.com, namespace: ns}
data: {a-switch: "true"}
---
kind: Deployment
apiVersion: apps/v1
metadata: {name: c, namespace: ns}
spec: {template: {spec: {serviceAccountName: theirs, containers: [{name: csi-attacher}, {name: vsphere-csi-controller}]}}}
`

// A driver gets what its manifest grants to the account of its controller, and nothing else.
func TestReadRights(t *testing.T) {
	got, err := readRights([]byte(manifest), controllerContainer)
	if err != nil {
		t.Fatal(err)
	}
	rules := func(resource string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}}}
	}
	want := rights{cluster: rules("nodes"), namespaced: rules("configmaps"), features: map[string]string{"a-switch": "true"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(rights{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	objects, err := Options{Manifest: []byte(manifest)}.rights(false)
	if err != nil || len(objects) != 6 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
	for text, words := range map[string]string{
		"kind: [":   "manifest of the CSI driver",
		"kind: Pod": "no Deployment has a container vsphere-csi-controller",
		strings.ReplaceAll(manifest, "name: theirs, namespace: ns}]", "name: other, namespace: ns}]"): "grants nothing to ServiceAccount theirs",
	} {
		if _, err := readRights([]byte(text), controllerContainer); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
}
