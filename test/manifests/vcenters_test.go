package manifests

import (
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

const vcentersChartDir = "../../charts/vcenters"

func vcentersByHelm(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	return renderAs(t, vcentersChartDir, common.ReleaseOptions{Name: "sims", Namespace: "ci"}, "Helm", values)
}

func vcentersObjects(t *testing.T, values string) objects {
	t.Helper()
	files, err := vcentersByHelm(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, files)
}

func TestVCentersLint(t *testing.T) { lintClean(t, vcentersChartDir, "ci") }

// Nothing can be set to no effect, and every value that there is, is tried.
func TestVCentersEveryValueHasAnEffect(t *testing.T) {
	everyValueCounts(t, vcentersChartDir, map[string]string{
		"image.repository":     `image: {repository: registry.test/sandbox}`,
		"image.tag":            `image: {tag: v1}`,
		"image.digest":         `image: {digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}`,
		"image.pullPolicy":     `image: {pullPolicy: Always}`,
		"imagePullSecrets":     `imagePullSecrets: [{name: s}]`,
		"scenario":             `scenario: zones-us-eu`,
		"topology":             `topology: "kind: Topology\nname: \"x\"\n"`,
		"ports":                `ports: [8989, 8990]`,
		"secretName":           `secretName: other`,
		"tls.secretName":       `tls: {secretName: other}`,
		"tls.certificateNames": `tls: {certificateNames: [vc.example.com]}`,
		"speed":                `speed: 2.5`,
		"extraArgs":            `extraArgs: [--trace]`,
		"resources":            `resources: {limits: {memory: 1Gi}}`,
		"nodeSelector":         `nodeSelector: {a: b}`,
		"tolerations":          `tolerations: [{operator: Exists}]`,
		"podAnnotations":       `podAnnotations: {a: b}`,
		"podLabels":            `podLabels: {a: b}`,
	}, func(values string) objects { return vcentersObjects(t, values) })
}

// A mistake in the values is reported before anything is installed.
func TestVCentersMistakes(t *testing.T) {
	for want, values := range map[string]string{
		`additional properties 'topologie' not allowed`: `topologie: x`,
		`at '/ports': minItems: got 0, want 1`:          `ports: []`,
		`at '/ports/0': minimum: got 443, want 1,024`:   `ports: [443]`,
		`at '/ports': items at 0 and 1 are equal`:       `ports: [8989, 8989]`,
		`at '/speed': exclusiveMinimum: got 0, want 0`:  `speed: 0`,
		`at '/secretName': '' does not match pattern`:   `secretName: ""`,
	} {
		if _, err := vcentersByHelm(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", values, err, want)
		}
	}
}

// The pod keeps to the "restricted" Pod Security Standard, and has no account of the cluster. The Service leads to it.
func TestVCentersPod(t *testing.T) {
	all := vcentersObjects(t, `{ports: [8989, 8990], tls: {secretName: cert}, topology: "x: y"}`)
	pod := one[*appsv1.Deployment](t, all).Spec.Template
	restricted(t, "vcenters", pod)
	if token := pod.Spec.AutomountServiceAccountToken; token == nil || *token {
		t.Error("the pod has the token of an account")
	}
	service := one[*corev1.Service](t, all)
	for key, want := range service.Spec.Selector {
		if pod.Labels[key] != want {
			t.Errorf("the Service selects %s=%s, the pod has %q", key, want, pod.Labels[key])
		}
	}
	if ports := pod.Spec.Containers[0].Ports; len(ports) != 2 || len(service.Spec.Ports) != 2 || ports[1].ContainerPort != service.Spec.Ports[1].TargetPort.IntVal {
		t.Errorf("ports of the pod %v, of the Service %v", ports, service.Spec.Ports)
	}
}
