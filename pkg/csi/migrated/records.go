package migrated

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Records are the cluster's CnsVSphereVolumeMigration objects, with a cache. Create them with [NewRecords]. All methods are safe
// for concurrent use. Errors wrap volume.ErrUnavailable, or volume.ErrState if the cluster does not have the kind.
type Records struct {
	client dynamic.ResourceInterface

	mu   sync.Mutex
	read bool              // ids is complete
	ids  map[string]string // by path
}

// NewRecords returns the records of a cluster. It needs list, create and delete, and makes no calls.
func NewRecords(client dynamic.Interface) *Records {
	return &Records{client: client.Resource(Resource()), ids: map[string]string{}}
}

// ID returns the volume for a path, or "" if there is no record.
func (r *Records) ID(ctx context.Context, path string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id := r.ids[path]; id != "" {
		return id, nil
	}
	if err := r.load(ctx); err != nil { // another process may have created it
		return "", err
	}
	return r.ids[path], nil
}

// Paths returns the paths by volume id. It returns none if the cluster does not have the kind.
func (r *Records) Paths(ctx context.Context) (map[string]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.read {
		if err := r.load(ctx); err != nil && !errors.Is(err, volume.ErrState) {
			return nil, err
		}
	}
	paths := make(map[string]string, len(r.ids))
	for path, id := range r.ids {
		paths[id] = path
	}
	return paths, nil
}

// Put records the volume of a path, whose disk is protected.
func (r *Records) Put(ctx context.Context, path, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.client.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Resource().GroupVersion().String(), "kind": Kind,
		"metadata": map[string]any{"name": id},
		"spec":     map[string]any{"volumeid": id, "volumepath": path, "protectvolumefromvmdelete": true},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return failed("write the record of "+path, err)
	}
	r.ids[path] = id
	return nil
}

// Delete deletes the record of a path, if there is one.
func (r *Records) Delete(ctx context.Context, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.ids[path]
	if id == "" {
		return nil
	}
	if err := r.client.Delete(ctx, id, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return failed("delete the record of "+path, err)
	}
	delete(r.ids, path)
	return nil
}

// load reads all records. The lock is held.
func (r *Records) load(ctx context.Context) error {
	list, err := r.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return failed("read the records of migrated volumes", err)
	}
	clear(r.ids)
	for _, item := range list.Items {
		path, _, _ := unstructured.NestedString(item.Object, "spec", "volumepath")
		if id, _, _ := unstructured.NestedString(item.Object, "spec", "volumeid"); path != "" && id != "" {
			r.ids[path] = id
		}
	}
	r.read = true
	return nil
}

// failed classifies an error of the API server.
func failed(what string, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s: %w: the cluster has no CustomResourceDefinition %s: apply the driver's manifests again", what, volume.ErrState, Resource().GroupResource())
	}
	return fmt.Errorf("%s: %w: the API server: %w", what, volume.ErrUnavailable, err)
}
