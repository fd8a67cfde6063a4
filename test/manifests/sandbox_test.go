package manifests

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
)

const sandboxChartDir = "../../charts/vsphere-sandbox"

// sandboxByHelm is what each template comes to when Helm renders it, its service called as the program calls itself.
func sandboxByHelm(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	r := existing.ReleaseOf("lab")
	return renderAs(t, sandboxChartDir, common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace}, "vsphere-sandbox-up", values)
}

func sandboxObjects(t *testing.T, values string) objects {
	t.Helper()
	files, err := sandboxByHelm(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, files)
}

// sandboxChanged has another value for everything in values.yaml.
func sandboxChanged() map[string]string {
	return map[string]string{
		"image.repository":           `image: {repository: registry.test/sandbox}`,
		"image.tag":                  `image: {tag: v1}`,
		"image.digest":               `image: {digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}`,
		"image.pullPolicy":           `image: {pullPolicy: Always}`,
		"imagePullSecrets":           `imagePullSecrets: [{name: s}]`,
		"scenario":                   `scenario: zones-us-eu`,
		"topology":                   `topology: "kind: Topology\nname: \"x\"\n"`,
		"topologyGzip":               `topologyGzip: H4sIAAAA`,
		"speed":                      `speed: 2.5`,
		"sandbox.extraArgs":          `sandbox: {extraArgs: [--csi, "off"]}`,
		"sandbox.controlPort":        `sandbox: {controlPort: 10300}`,
		"sandbox.gracePeriodSeconds": `sandbox: {gracePeriodSeconds: 60}`,
		"sandbox.stateMedium":        `sandbox: {stateMedium: Memory}`,
		"sandbox.resources":          `sandbox: {resources: {limits: {memory: 1Gi}}}`,
		"sandbox.nodeSelector":       `sandbox: {nodeSelector: {a: b}}`,
		"sandbox.tolerations":        `sandbox: {tolerations: [{operator: Exists}]}`,
		"feed.port":                  `feed: {port: 10301}`,
		"feed.secretName":            `feed: {secretName: other}`,
		"lightNodes.shards":          `lightNodes: {shards: 3}`,
		"lightNodes.extraArgs":       `lightNodes: {extraArgs: [-v]}`,
		"lightNodes.resources":       `lightNodes: {resources: {limits: {memory: 1Gi}}}`,
		"lightNodes.nodeSelector":    `lightNodes: {nodeSelector: {a: b}}`,
		"lightNodes.tolerations":     `lightNodes: {tolerations: [{operator: Exists}]}`,
		"namespaces.create":          `namespaces: {create: false}`,
		"rbac.create":                `rbac: {create: false}`,
		"podAnnotations":             `podAnnotations: {a: b}`,
		"podLabels":                  `podLabels: {a: b}`,
		"priorityClassName":          `priorityClassName: high`,
	}
}

func TestSandboxLint(t *testing.T) { lintClean(t, sandboxChartDir, "vsphere-sandbox-lab") }

// Nothing can be set to no effect, and every value that there is, is tried.
func TestSandboxEveryValueHasAnEffect(t *testing.T) {
	everyValueCounts(t, sandboxChartDir, sandboxChanged(), func(values string) objects { return sandboxObjects(t, values) })
}

// A mistake in the values is reported before anything is installed.
func TestSandboxMistakes(t *testing.T) {
	for want, values := range map[string]string{
		`additional properties 'topologie' not allowed`:         `topologie: x`,
		`set either topology or topologyGzip, not both`:         `{topology: x, topologyGzip: eA==}`,
		`sandbox.controlPort and feed.port are the same`:        `feed: {port: 10280}`,
		`at '/lightNodes/shards': maximum: got 300, want 256`:   `lightNodes: {shards: 300}`,
		`at '/speed': exclusiveMinimum: got 0, want 0`:          `speed: 0`,
		`at '/feed/port': minimum: got 443, want 1,024`:         `feed: {port: 443}`,
		`at '/image/digest': 'latest' does not match pattern`:   `image: {digest: latest}`,
		`at '/topologyGzip': 'not base64' does not match`:       `topologyGzip: not base64`,
		`at '/sandbox/stateMedium': value must be one of '', '`: `sandbox: {stateMedium: disk}`,
	} {
		if _, err := sandboxByHelm(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", values, err, want)
		}
	}
}

// Every object can be found again by the labels that the removal goes by, and everything with a namespace is in one of
// those that are named.
func TestSandboxLabels(t *testing.T) {
	for key, o := range sandboxObjects(t, `topology: "x: y"`) {
		labels := labelsOf(t, o)
		if labels["app.kubernetes.io/part-of"] != "vsphere-sandbox" || labels["app.kubernetes.io/instance"] != "lab" ||
			labels["app.kubernetes.io/managed-by"] != "vsphere-sandbox-up" {
			t.Errorf("%s: labels %v", key, labels)
		}
	}
}

// Both pods keep to the "restricted" Pod Security Standard.
func TestSandboxPodSecurity(t *testing.T) {
	all := sandboxObjects(t, "")
	for name, pod := range map[string]corev1.PodTemplateSpec{
		"sandbox":     one[*appsv1.Deployment](t, all).Spec.Template,
		"light-nodes": one[*appsv1.StatefulSet](t, all).Spec.Template,
	} {
		restricted(t, name, pod)
		if all["ServiceAccount vsphere-sandbox-lab/"+pod.Spec.ServiceAccountName] == nil {
			t.Errorf("%s: no account %s", name, pod.Spec.ServiceAccountName)
		}
	}
}

// The Secret that the program makes is the one that both pods mount.
func TestSandboxSecret(t *testing.T) {
	all := sandboxObjects(t, "")
	for _, volumes := range [][]corev1.Volume{
		one[*appsv1.Deployment](t, all).Spec.Template.Spec.Volumes, one[*appsv1.StatefulSet](t, all).Spec.Template.Spec.Volumes,
	} {
		if !slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == existing.Secret }) {
			t.Errorf("%v mount no %s", volumes, existing.Secret)
		}
	}
}
