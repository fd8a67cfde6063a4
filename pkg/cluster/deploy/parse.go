package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/manifests"
)

// parse reads the objects of a manifest, in their order. name is for messages.
func parse(name string, manifest []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for n := 1; ; n++ {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", name, n, err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &o.Object); err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", name, n, err)
		}
		switch {
		case len(o.Object) == 0: // comments only
		case o.IsList():
			return nil, fmt.Errorf("%s: document %d is a %s: its objects have to be documents of their own", name, n, o.GetKind())
		case o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "":
			return nil, fmt.Errorf("%s: document %d is no object of Kubernetes: it needs apiVersion, kind and metadata.name", name, n)
		default:
			all = append(all, o)
		}
	}
}

// own reads files of manifests.
func own(files ...string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, file := range files {
		data, err := manifests.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parse("manifests/"+file, data)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
