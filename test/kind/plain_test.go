package kind

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
)

// plain makes a cluster of kind's that has nothing to do with a sandbox, and removes it when the test ends: one node, a control
// plane on which pods may run.
func (h *home) plain(name string) *kind.Cluster {
	h.T.Helper()
	h.T.Setenv("DOCKER_HOST", engine.host())
	rt, err := kind.Detect(h.T.Context())
	if err != nil {
		h.T.Fatal(err)
	}
	dir := filepath.Join(h.Dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		h.T.Fatal(err)
	}
	var of struct{ Kubernetes string }
	if err := json.Unmarshal([]byte(h.Must("version", "-o", "json")), &of); err != nil {
		h.T.Fatal(err)
	}
	c, err := kind.New(kind.Options{Name: name, Dir: dir, Image: node, Speed: pace.Speed(1), Kubernetes: of.Kubernetes, Runtime: rt})
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := c.Delete(ctx); err != nil {
			h.T.Error(err)
		}
		if err := c.Close(); err != nil {
			h.T.Error(err)
		}
	})
	begin := time.Now()
	if err := c.Create(h.T.Context()); err != nil {
		h.T.Fatal(err)
	}
	took(h.T, "a plain cluster is up", begin)
	return c
}

// carry gives an archive of images to the containerd of its node, as the pages say.
func carry(t *testing.T, c *kind.Cluster, archive string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := c.Exec(t.Context(), c.ExtraControlPlane(), f, "ctr", "--namespace", "k8s.io", "images", "import", "-")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// content are the names of all that a sandbox could have made in a cluster, pods and events left out, which come and go.
func content(t *testing.T, c *kind.Cluster) (all []string) {
	t.Helper()
	client, err := metadata.NewForConfig(c.REST())
	if err != nil {
		t.Fatal(err)
	}
	for group, resources := range map[string][]string{
		"":                          {"nodes", "namespaces", "services", "configmaps", "secrets", "serviceaccounts", "persistentvolumes"},
		"apps":                      {"deployments", "daemonsets", "statefulsets"},
		"rbac.authorization.k8s.io": {"clusterroles", "clusterrolebindings", "roles", "rolebindings"},
		"storage.k8s.io":            {"csidrivers", "storageclasses"},
		"coordination.k8s.io":       {"leases"},
		"discovery.k8s.io":          {"endpointslices"},
		"apiextensions.k8s.io":      {"customresourcedefinitions"},
	} {
		for _, r := range resources {
			list, err := client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: r}).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("%s: %v", r, err)
			}
			for _, o := range list.Items {
				all = append(all, r+" "+o.Namespace+"/"+o.Name)
			}
		}
	}
	slices.Sort(all)
	return all
}
