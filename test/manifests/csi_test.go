package manifests

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	csiBaseDir   = "../../manifests/csi"
	csiChartDir  = "../../charts/vsphere-csi"
	csiNamespace = "vmware-system-csi"
)

// csiBase is manifests/csi as kustomize prints it.
func csiBase(t *testing.T) objects {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), csiBaseDir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	all.addAny(t, "kustomize", data)
	return all
}

// csiRender is what each template of the chart comes to.
func csiRender(t *testing.T, namespace, values string) (map[string]string, error) {
	t.Helper()
	return renderAs(t, csiChartDir, common.ReleaseOptions{Name: "any", Namespace: namespace}, "Helm", values)
}

// csiChart is the chart as Helm prints it, without its definitions.
func csiChart(t *testing.T, values string) objects {
	t.Helper()
	files, err := csiRender(t, csiNamespace, values)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, files)
}

// addAny decodes documents strictly where their kind is one of Kubernetes' own, and as they are where it is not.
func (all objects) addAny(t *testing.T, source string, data []byte) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, register := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme} {
		if err := register(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for reader := yamlreader.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data))); ; {
		document := make([]byte, len(data)+1)
		n, err := reader.Read(document)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		document = document[:n]
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		var o runtime.Object
		if o, _, err = decoder.Decode(document, nil, nil); runtime.IsNotRegisteredError(err) {
			u := &unstructured.Unstructured{}
			err = yaml.UnmarshalStrict(document, &u.Object)
			o = u
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", source, err, document)
		}
		key := keyOf(t, o)
		if all[key] != nil {
			t.Errorf("%s: %s is there twice", source, key)
		}
		all[key] = o
	}
}

// helmsBusiness says what the chart's templates do not have: the namespace is the release's, and definitions are installed
// from the folder crds.
func helmsBusiness(key string) bool {
	return strings.HasPrefix(key, "Namespace ") || strings.HasPrefix(key, "CustomResourceDefinition ")
}

// With nothing set, the chart is the base: object by object, field by field.
func TestCSIChartIsTheBase(t *testing.T) {
	base, chart := csiBase(t), csiChart(t, "")
	maps.DeleteFunc(base, func(key string, _ runtime.Object) bool { return helmsBusiness(key) })
	if diff := cmp.Diff(base.keys(), chart.keys()); diff != "" {
		t.Errorf("objects (-kustomize +helm):\n%s", diff)
	}
	for key := range base {
		if diff := cmp.Diff(base[key], chart[key]); diff != "" {
			t.Errorf("%s (-kustomize +helm):\n%s", key, diff)
		}
	}
}

// In another namespace everything is there.
func TestCSIAnotherNamespace(t *testing.T) {
	files, err := csiRender(t, "elsewhere", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if strings.Contains(text, csiNamespace) {
			t.Errorf("%s speaks of %s:\n%s", name, csiNamespace, text)
		}
	}
}

// `helm lint` has nothing to say but that there is no icon.
func TestCSILint(t *testing.T) {
	for _, m := range lint.RunAll(csiChartDir, nil, csiNamespace).Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}

// csiChanged has another value for everything in values.yaml.
func csiChanged() map[string]string {
	return map[string]string{
		"config.create":               `config: {create: false}`,
		"config.name":                 `config: {name: other}`,
		"config.file":                 `config: {file: csi-vsphere.conf, files: {csi-vsphere.conf: "[Global]"}}`,
		"config.files":                `config: {files: {ca.crt: x}}`,
		"credentials.create":          `credentials: {create: false}`,
		"credentials.secretName":      `credentials: {secretName: other}`,
		"credentials.vcenters":        `credentials: {vcenters: [{server: a.test, username: u, password: p}]}`,
		"credentials.namespace":       `credentials: {create: false, namespace: kube-system}`,
		"image.driver.repository":     `image: {driver: {repository: registry.test/csi}}`,
		"image.driver.tag":            `image: {driver: {tag: v1}}`,
		"image.sidecars.repository":   `image: {sidecars: {repository: registry.test/sidecars}}`,
		"image.sidecars.tag":          `image: {sidecars: {tag: v1}}`,
		"image.pullPolicy":            `image: {pullPolicy: Always}`,
		"imagePullSecrets":            `imagePullSecrets: [{name: s}]`,
		"logLevel":                    `logLevel: 5`,
		"fsGroupPolicy":               `fsGroupPolicy: None`,
		"storageClasses.create":       `storageClasses: {create: false}`,
		"storageClasses.default":      `storageClasses: {default: false}`,
		"storageClasses.policies":     `storageClasses: {policies: [{name: vsphere-gold, policy: Gold}]}`,
		"snapshots.class":             `snapshots: {class: false}`,
		"snapshots.controller":        `snapshots: {controller: false}`,
		"sidecars.timeout":            `sidecars: {timeout: 60s}`,
		"sidecars.retryIntervalStart": `sidecars: {retryIntervalStart: 2s}`,
		"sidecars.retryIntervalMax":   `sidecars: {retryIntervalMax: 1m}`,
		"sidecars.kubeAPIQPS":         `sidecars: {kubeAPIQPS: 5}`,
		"sidecars.kubeAPIBurst":       `sidecars: {kubeAPIBurst: 10}`,
		"sidecars.attacherThreads":    `sidecars: {attacherThreads: 10}`,
		"sidecars.resources":          `sidecars: {resources: {limits: {memory: 1Gi}}}`,
		"controller.metricsPort":      `controller: {metricsPort: 1234}`,
		"controller.resources":        `controller: {resources: {limits: {memory: 1Gi}}}`,
		"controller.nodeSelector":     `controller: {nodeSelector: {a: b}}`,
		"controller.affinity":         `controller: {affinity: null}`,
		"controller.tolerations":      `controller: {tolerations: []}`,
		"node.kubeletDir":             `node: {kubeletDir: /opt/kubelet}`,
		"node.maxVolumes":             `node: {maxVolumes: 29}`,
		"node.metricsPort":            `node: {metricsPort: 1234}`,
		"node.hostTools":              `node: {hostTools: []}`,
		"node.resources":              `node: {resources: {limits: {memory: 1Gi}}}`,
		"node.nodeSelector":           `node: {nodeSelector: {a: b}}`,
		"node.tolerations":            `node: {tolerations: []}`,
	}
}

// Nothing can be set to no effect, and every value that there is, is tried.
func TestCSIEveryValueHasAnEffect(t *testing.T) {
	tried := csiChanged()
	for path, values := range tried {
		unchanged := ""
		if path == "credentials.namespace" {
			unchanged = `credentials: {create: false}`
		}
		if cmp.Equal(csiChart(t, unchanged), csiChart(t, values)) {
			t.Errorf("%s: %s changes nothing", path, values)
		}
	}
	c, err := loader.LoadDir(csiChartDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range leaves("", c.Values) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(tried)), func(p string) bool { return leaf == p || strings.HasPrefix(leaf, p+".") }) {
			t.Errorf("values.yaml has %s, which is not tried", leaf)
		}
	}
}

// A mistake in the values is reported before anything is installed.
func TestCSIMistakes(t *testing.T) {
	for want, values := range map[string]string{
		`additional properties 'vcenters' not allowed`:                 `vcenters: []`,
		`config: files does not contain csi-vsphere.conf`:              `config: {file: csi-vsphere.conf}`,
		`a Secret can be created only in the namespace of the release`: `credentials: {namespace: kube-system}`,
		`at '/node/maxVolumes': maximum: got 300, want 255`:            `node: {maxVolumes: 300}`,
		`at '/sidecars/timeout': '5 minutes' does not match pattern`:   `sidecars: {timeout: 5 minutes}`,
		`at '/storageClasses/policies/0': missing property 'policy'`:   `storageClasses: {policies: [{name: a}]}`,
		`at '/fsGroupPolicy': value must be one of 'None', 'File'`:     `fsGroupPolicy: Never`,
		`at '/credentials/vcenters/0/server': 'a.test:443' does not`:   `credentials: {vcenters: [{server: "a.test:443", username: u, password: p}]}`,
	} {
		if _, err := csiRender(t, csiNamespace, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", values, err, want)
		}
	}
}

// What the pods are given is the configuration and the Secret that there are, and their accounts exist.
func TestCSIReferences(t *testing.T) {
	all := csiBase(t)
	for key, o := range all {
		var pod corev1.PodSpec
		switch o := o.(type) {
		case *appsv1.Deployment:
			pod = o.Spec.Template.Spec
		case *appsv1.DaemonSet:
			pod = o.Spec.Template.Spec
		default:
			continue
		}
		if all["ServiceAccount "+csiNamespace+"/"+pod.ServiceAccountName] == nil {
			t.Errorf("%s: no account %s", key, pod.ServiceAccountName)
		}
		mounted := map[string]bool{}
		for _, v := range pod.Volumes {
			mounted[v.Name] = true
			if v.ConfigMap != nil && all["ConfigMap "+csiNamespace+"/"+v.ConfigMap.Name] == nil {
				t.Errorf("%s: no ConfigMap %s", key, v.ConfigMap.Name)
			}
		}
		for _, c := range pod.Containers {
			for _, m := range c.VolumeMounts {
				if !mounted[m.Name] {
					t.Errorf("%s: %s mounts %s", key, c.Name, m.Name)
				}
			}
		}
	}
	if o, ok := all["Role "+csiNamespace+"/vsphere-csi:vsphere-csi-controller:credentials"].(*rbacv1.Role); !ok ||
		all["Secret "+csiNamespace+"/"+o.Rules[0].ResourceNames[0]] == nil {
		t.Errorf("the Role and the Secret: %v", o)
	}
	if _, err := os.Stat(csiChartDir + "/README.md"); err != nil {
		t.Error(err)
	}
}
