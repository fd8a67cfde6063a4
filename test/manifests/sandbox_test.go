package manifests

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
)

const sandboxChartDir = "../../charts/vsphere-sandbox"

func sandboxChart(t *testing.T) *chartv2.Chart {
	t.Helper()
	c, err := loader.LoadDir(sandboxChartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func valuesOf(t *testing.T, text string) map[string]any {
	t.Helper()
	given := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &given); err != nil {
		t.Fatal(err)
	}
	return given
}

// sandboxByHelm is what each template comes to when Helm renders it, its service called as the program calls itself.
func sandboxByHelm(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	c := sandboxChart(t)
	r := existing.ReleaseOf("lab")
	release := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, IsInstall: true, Revision: 1}
	complete, err := util.ToRenderValues(c, valuesOf(t, values), release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	complete["Release"].(map[string]any)["Service"] = "vsphere-sandbox-up"
	return engine.Render(c, complete)
}

func sandboxObjects(t *testing.T, values string) objects {
	t.Helper()
	files, err := sandboxByHelm(t, values)
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	for name, text := range files {
		if path.Base(name) != "NOTES.txt" {
			all.addAny(t, name, []byte(text))
		}
	}
	return all
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

// The program renders the chart without Helm exactly as Helm does, with any values.
func TestSandboxIsRenderedAsHelmDoes(t *testing.T) {
	tried := maps.Clone(sandboxChanged())
	tried["nothing"] = ""
	tried["no light nodes"] = `lightNodes: {shards: 0}`
	tried["taken away"] = `{sandbox: {resources: null}, podLabels: null}`
	for name, values := range tried {
		t.Run(name, func(t *testing.T) {
			helm, err := sandboxByHelm(t, values)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for file, text := range helm {
				want[strings.TrimPrefix(file, "vsphere-sandbox/")] = text
			}
			got, err := existing.Render(os.DirFS(sandboxChartDir), existing.ReleaseOf("lab"), valuesOf(t, values))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-helm +ours):\n%s", diff)
			}
		})
	}
}

// `helm lint` has nothing to say but that there is no icon.
func TestSandboxLint(t *testing.T) {
	for _, m := range lint.RunAll(sandboxChartDir, nil, "vsphere-sandbox-lab").Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}

// Nothing can be set to no effect, and every value that there is, is tried.
func TestSandboxEveryValueHasAnEffect(t *testing.T) {
	tried := sandboxChanged()
	unchanged := sandboxObjects(t, "")
	for path, values := range tried {
		if cmp.Equal(unchanged, sandboxObjects(t, values)) {
			t.Errorf("%s: %s changes nothing", path, values)
		}
	}
	for _, leaf := range leaves("", sandboxChart(t).Values) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(tried)), func(p string) bool { return leaf == p || strings.HasPrefix(leaf, p+".") }) {
			t.Errorf("values.yaml has %s, which is not tried", leaf)
		}
	}
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
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := sandboxObjects(t, "")
	for name, pod := range map[string]corev1.PodTemplateSpec{
		"sandbox":     one[*appsv1.Deployment](t, all).Spec.Template,
		"light-nodes": one[*appsv1.StatefulSet](t, all).Spec.Template,
	} {
		restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
		for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
			if !result.Allowed {
				t.Errorf("%s: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
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
