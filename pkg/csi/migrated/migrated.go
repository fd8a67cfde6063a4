package migrated

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

const extension = ".vmdk"

// IsPath reports whether a volume id is the path of a disk, by its file extension, as upstream. CNS ids never are.
func IsPath(id string) bool { return strings.HasSuffix(strings.ToLower(id), extension) }

// Path is the location of a disk.
type Path struct {
	Datastore string // its name
	File      string // in the datastore: "kubevols/a.vmdk"
}

// ParsePath parses "[datastore] folder/file.vmdk". For a datastore in a datastore cluster, the in-tree provider wrote
// "[cluster/datastore]", as a StorageClass may; ParsePath ignores the cluster. Error: volume.ErrInvalid.
func ParsePath(id string) (p Path, err error) {
	in, file, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(id), "["), "]")
	p = Path{Datastore: withoutCluster(strings.TrimSpace(in)), File: strings.TrimPrefix(strings.TrimSpace(file), "/")}
	if !ok || !strings.HasPrefix(strings.TrimSpace(id), "[") || p.Datastore == "" || !IsPath(p.File) || p.name() == "" {
		return Path{}, fmt.Errorf("volume path %q: %w: not \"[datastore] folder/file.vmdk\"", id, volume.ErrInvalid)
	}
	if clean := path.Clean(p.File); clean != p.File || strings.HasPrefix(clean, "../") {
		return Path{}, fmt.Errorf("volume path %q: %w: the file's real path is %s", id, volume.ErrInvalid, clean)
	}
	return p, nil
}

// withoutCluster returns the name of a datastore, in which vSphere allows no slash.
func withoutCluster(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// String returns the path as vSphere writes it.
func (p Path) String() string { return "[" + p.Datastore + "] " + p.File }

// name returns the name of the disk's volume in CNS.
func (p Path) name() string {
	base := path.Base(p.File)
	return base[:len(base)-len(extension)]
}

// DatastoreURL returns the datastore for volumes of an in-tree StorageClass: its datastore parameter, by name or as
// "cluster/datastore", else the configured migration-datastore-url. It returns "" for any datastore.
func (s *Store) DatastoreURL(ctx context.Context, name string) (string, error) {
	if name == "" {
		if urls := s.cfg.DatastoreURLs(); len(urls) == 1 {
			return urls[0], nil
		}
		return "", nil // several belong to several vCenters, and topology selects one of those
	}
	d, err := s.datastore(ctx, Path{Datastore: withoutCluster(name)})
	return d.URL, err
}

// Remember records a new volume that Kubernetes will know by the path of its disk, and returns the path.
func (s *Store) Remember(ctx context.Context, id string) (path string, err error) {
	v, err := s.CNS.Volume(ctx, id)
	if err != nil {
		return "", err
	}
	if v.File == "" {
		return "", fmt.Errorf("volume %s: %w: vcenter %q does not report the file of its disk", id, volume.ErrState, v.VCenter)
	}
	return v.File, s.cfg.Records.Put(ctx, v.File, id)
}

//go:embed crd.yaml
var crd []byte

// CRD returns the CustomResourceDefinition of CnsVSphereVolumeMigration objects as YAML, with upstream's schema.
func CRD() []byte { return slices.Clone(crd) }

// Kind is the kind of the objects.
const Kind = "CnsVSphereVolumeMigration"

// Resource returns the API resource of the objects.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cns.vmware.com", Version: "v1alpha1", Resource: "cnsvspherevolumemigrations"}
}

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
