package manifests

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	baseDir  = "../../manifests/ccm"
	chartDir = "../../charts/vsphere-cloud-controller-manager"
)

// kustomized is the base as `kustomize build` prints it.
func kustomized(t *testing.T) objects {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), baseDir)
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	for _, r := range resources.Resources() {
		data, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		all.add(t, "kustomize", data)
	}
	return all
}

// helmed is the chart as `helm template --namespace namespace --values -` prints it.
func helmed(t *testing.T, namespace, values string) objects {
	t.Helper()
	files, err := render(t, namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	for name, text := range files {
		if path.Base(name) != "NOTES.txt" {
			all.add(t, name, []byte(text))
		}
	}
	return all
}

// render returns what each template comes to.
func render(t *testing.T, namespace, values string) (map[string]string, error) {
	t.Helper()
	return renderAs(t, chartDir, common.ReleaseOptions{Name: "any", Namespace: namespace}, "Helm", values)
}

// renderAs returns what each template of a chart comes to when a service installs it as a release: Helm, or one that calls
// itself otherwise.
func renderAs(t *testing.T, dir string, r common.ReleaseOptions, service, values string) (map[string]string, error) {
	t.Helper()
	given := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	c := chartAt(t, dir)
	r.IsInstall, r.Revision = true, 1
	complete, err := util.ToRenderValues(c, given, r, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	complete["Release"].(map[string]any)["Service"] = service
	return engine.Render(c, complete)
}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	return chartAt(t, chartDir)
}

func chartAt(t *testing.T, dir string) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// decoded are the objects of rendered templates.
func decoded(t *testing.T, files map[string]string) objects {
	t.Helper()
	all := objects{}
	for name, text := range files {
		if path.Base(name) != "NOTES.txt" {
			all.addAny(t, name, []byte(text))
		}
	}
	return all
}

// everyValueCounts checks that each of the values that are tried changes something, and that each of values.yaml is tried.
func everyValueCounts(t *testing.T, dir string, tried map[string]string, render func(values string) objects) {
	t.Helper()
	unchanged := render("")
	for path, values := range tried {
		if cmp.Equal(unchanged, render(values)) {
			t.Errorf("%s: %s changes nothing", path, values)
		}
	}
	for _, leaf := range leaves("", chartAt(t, dir).Values) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(tried)), func(p string) bool { return leaf == p || strings.HasPrefix(leaf, p+".") }) {
			t.Errorf("values.yaml has %s, which is not tried", leaf)
		}
	}
}

// restricted checks that a pod keeps to the "restricted" Pod Security Standard.
func restricted(t *testing.T, name string, pod corev1.PodTemplateSpec) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, result := range evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			t.Errorf("%s: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
}

// lintClean checks that `helm lint` has nothing to say but that there is no icon.
func lintClean(t *testing.T, dir, namespace string) {
	t.Helper()
	for _, m := range lint.RunAll(dir, nil, namespace).Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}
