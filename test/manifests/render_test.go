package manifests

import (
	"path"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
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
	given := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	c := loadChart(t)
	release := common.ReleaseOptions{Name: "any", Namespace: namespace, IsInstall: true, Revision: 1}
	complete, err := util.ToRenderValues(c, given, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, complete)
}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
