package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider"
)

// The program accepts the command line of the manifest: the only error is the missing file.
func TestManifestArguments(t *testing.T) {
	data, err := os.ReadFile("../../manifests/ccm/daemonset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.DaemonSet
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		t.Fatal(err)
	}
	args := append(d.Spec.Template.Spec.Containers[0].Args, "--cloud-config="+filepath.Join(t.TempDir(), "none"))
	if err := provider.Run(t.Context(), args); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v: %v", args, err)
	}
}
