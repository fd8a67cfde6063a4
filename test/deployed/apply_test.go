package deployed

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// apply creates every object as the cluster's admin. The API server accepts no field that it does not know, and none twice.
func (m manifest) apply(t *testing.T, l *lab.Lab) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", l.Cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(l.Client.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, o := range m {
		kind := o.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Fatal(err)
		}
		// Of an object that is in no namespace the manifest names none.
		_, err = client.Resource(mapping.Resource).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{
			FieldManager: "operator", FieldValidation: metav1.FieldValidationStrict,
		})
		if err != nil {
			t.Fatalf("%s %s: %v", kind.Kind, o.GetName(), err)
		}
	}
}

// configure does what the README of the manifests has an operator do: vsphere.conf and the authority that its vCenters
// trust into the ConfigMap, credentials into the Secret.
func (m manifest) configure(t *testing.T, conf, ca string, credentials map[string]string) {
	t.Helper()
	m.edit(t, "ConfigMap", func(o map[string]any) error {
		return unstructured.SetNestedStringMap(o, map[string]string{configKey: conf, "ca.crt": ca}, "data")
	})
	m.edit(t, "Secret", func(o map[string]any) error {
		return unstructured.SetNestedStringMap(o, credentials, "stringData")
	})
}

// overlay is what else an operator adds to the container.
type overlay struct {
	args []string
	env  []corev1.EnvVar // values only
}

func (m manifest) overlay(t *testing.T, o overlay) {
	t.Helper()
	m.edit(t, "DaemonSet", func(d map[string]any) error {
		path := []string{"spec", "template", "spec", "containers"}
		containers, _, err := unstructured.NestedSlice(d, path...)
		if err != nil {
			return err
		}
		c, ok := containers[0].(map[string]any)
		if !ok {
			return fmt.Errorf("container: %v", containers[0])
		}
		for _, arg := range o.args {
			c["args"] = append(c["args"].([]any), arg)
		}
		for _, v := range o.env {
			c["env"] = append(c["env"].([]any), map[string]any{"name": v.Name, "value": v.Value})
		}
		return unstructured.SetNestedSlice(d, containers, path...)
	})
}
