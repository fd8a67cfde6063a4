package main

import (
	"os"
	"strings"
	"testing"
)

// What programs say of themselves is what they are, and the node's Kubernetes is the sandbox's own.
func TestReleases(t *testing.T) {
	for _, tt := range []struct{ file, module, want string }{
		{"programs/kube/go.mod", "k8s.io/kubernetes", kubernetesVersion},
		{"../../go.mod", "k8s.io/kubernetes", kubernetesVersion},
		{"programs/containerd/go.mod", "github.com/containerd/containerd/v2", containerdVersion},
	} {
		gomod, err := os.ReadFile(tt.file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(gomod), "\t"+tt.module+" "+tt.want) {
			t.Errorf("%s does not name %s %s", tt.file, tt.module, tt.want)
		}
	}
}
