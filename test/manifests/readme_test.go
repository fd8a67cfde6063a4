package manifests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// blocks are the YAML blocks of a page.
func blocks(t *testing.T, page string) []string {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, match := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(data), -1) {
		all = append(all, match[1])
	}
	if len(all) == 0 {
		t.Fatalf("%s has no block of YAML", page)
	}
	return all
}

// The overlay that the base's page shows is one: its vCenters, its image, and no Secret with placeholders.
func TestOverlayOfThePage(t *testing.T) {
	overlay := blocks(t, baseDir+"/README.md")[0]
	base, err := filepath.Abs(baseDir)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, base)
	if err != nil {
		t.Fatal(err)
	}
	overlay = strings.Replace(overlay, "- ../manifests/ccm\n", "- "+relative+"\n", 1)
	if err := os.WriteFile(dir+"/kustomization.yaml", []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	all.add(t, "overlay", data)
	for key, o := range all {
		if _, ok := o.(*corev1.Secret); ok {
			t.Errorf("%s is there", key)
		}
	}
	cfg := loaded(t, all)
	if len(cfg.VCenters) != 2 || cfg.Labels == (config.Labels{}) {
		t.Errorf("%d vCenters, labels %v", len(cfg.VCenters), cfg.Labels)
	}
	for _, vc := range cfg.VCenters {
		if all["Role kube-system/vsphere-cloud-controller-manager:credentials"] == nil || vc.Secret.Name != "vsphere-cloud-secret" {
			t.Errorf("vcenter %s: no right to read %v", vc.Tenant, vc.Secret)
		}
	}
	if image := pod(t, all).Spec.Containers[0].Image; strings.HasPrefix(image, "localhost/") {
		t.Errorf("image is %s", image)
	}
}

// So are the values that the chart's page shows.
func TestValuesOfThePage(t *testing.T) {
	for _, values := range blocks(t, chartDir+"/README.md") {
		loaded(t, helmed(t, "kube-system", values))
	}
}
