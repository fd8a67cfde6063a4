package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// Every sidecar is in the manifests once, with a valid command line.
func TestManifestArguments(t *testing.T) {
	var found []string
	for _, file := range []string{"controller.yaml", "snapshot-controller.yaml"} {
		data, err := os.ReadFile("../../manifests/csi/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var d appsv1.Deployment
		if err := yaml.UnmarshalStrict(data, &d); err != nil {
			t.Fatal(err)
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			if !strings.HasPrefix(c.Image, "localhost/csi-sidecars:") {
				continue
			}
			found = append(found, c.Args[0])
			s, ok := find(c.Args[0])
			if !ok || s.name != c.Name {
				t.Errorf("container %s: %v", c.Name, c.Args)
				continue
			}
			if _, w, _, err := s.parse(c.Args[1:], io.Discard); err != nil {
				t.Errorf("%s: %v", s.name, err)
			} else if err := w.validate(s.driver); err != nil {
				t.Errorf("%s: %v", s.name, err)
			} else if !w.election.Enabled || w.election.Namespace != d.Namespace {
				t.Errorf("%s: its Lease is in %q", s.name, w.election.Namespace)
			}
		}
	}
	if !slices.Equal(found, names()) {
		t.Errorf("there are %v", found)
	}
}
