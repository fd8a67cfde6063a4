package conformance

import (
	"context"
	"net/http"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/nodeimage"
)

// registry is where the tests' images are.
const registry = "https://registry.k8s.io/v2/"

// registryTime is how long the registry may take to answer.
const registryTime = 15 * time.Second

// images returns the archives of the tests' images for the nodes: one that hack/kind-node has made, or none if the nodes can pull them.
// Without both it is an error: every test with a pod would fail after its timeout.
func (s *session) images(ctx context.Context) ([]string, error) {
	archive, err := nodeimage.Finder{Kubernetes: s.release.Version, Cache: s.o.cache}.Tests()
	if err != nil {
		return nil, err
	}
	if archive != "" {
		s.Println("images of the tests: %s", archive)
		return []string{archive}, nil
	}
	s.Busy("asks whether " + registry + " can be reached")
	err = reach(ctx, s.o.registry)
	s.Busy("")
	if err != nil {
		return nil, &report.Error{
			Code: "test-images-missing", Exit: report.Prerequisite, Err: err,
			Message: "the images of the tests of Kubernetes " + s.release.Version + " are not in the cache of hack/kind-node, and their registry cannot be reached",
			Try:     "sudo hack/kind-node/build -tests -kubernetes " + s.release.Name() + ", in a checkout: makes them without a registry, in some minutes",
		}
	}
	s.Println("images of the tests: pulled by the nodes")
	return nil, nil
}

// reach returns an error if a server does not answer.
func reach(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, registryTime)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodHead, url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	return answer.Body.Close() // any answer: whether an image exists is for the nodes to see
}
