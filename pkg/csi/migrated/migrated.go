package migrated

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
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

// RecordVolume records a new volume that Kubernetes will know by the path of its disk, and returns the path.
func (s *Store) RecordVolume(ctx context.Context, id string) (path string, err error) {
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

// CNS is the layer below a [Store]; pkg/csi/store.Store implements it.
type CNS interface {
	volume.Store
	// Datastores returns the datastores with a name in all vCenters. Errors: volume.ErrNoDatastore, volume.ErrUnavailable.
	Datastores(ctx context.Context, name string) ([]volume.Datastore, error)
	// Register makes a disk a volume, or returns its existing one. Error: volume.ErrNotFound if the file does not exist.
	Register(ctx context.Context, name string, on volume.Datastore, file string) (volume.Volume, error)
	// Protect keeps the disk when its VM is deleted.
	Protect(ctx context.Context, id string) error
}

// Config is the configuration of a [Store]. CNS and Records are mandatory.
type Config struct {
	CNS     CNS
	Records *Records
	// DatastoreURLs returns the migration-datastore-url of each vCenter that has one; may be nil.
	DatastoreURLs func() []string
	// Logger receives registrations; discarded when nil.
	Logger *slog.Logger
}

// Store is a [volume.Store] for ids that may be paths. All methods are safe for concurrent use.
type Store struct {
	CNS
	cfg Config
}

var _ volume.Store = (*Store)(nil)

// New returns a Store. It makes no calls and needs no Close.
func New(cfg Config) *Store {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.DatastoreURLs == nil {
		cfg.DatastoreURLs = func() []string { return nil }
	}
	return &Store{CNS: cfg.CNS, cfg: cfg}
}

// cnsID returns the CNS volume for an id. It registers the disk if needed. Errors: volume.ErrNotFound if the disk does not exist;
// volume.ErrNoDatastore; volume.ErrInvalid; and those of CNS.
func (s *Store) cnsID(ctx context.Context, id string) (string, error) {
	if !IsPath(id) {
		return id, nil
	}
	p, err := ParsePath(id)
	if err != nil {
		return "", err
	}
	if is, err := s.cfg.Records.ID(ctx, id); is != "" || err != nil {
		return is, err
	}
	on, err := s.datastore(ctx, p)
	if err != nil {
		return "", fmt.Errorf("in-tree volume %q: %w", id, err)
	}
	v, err := s.Register(ctx, p.name(), on, p.File)
	if err == nil {
		err = s.Protect(ctx, v.ID)
	}
	if err == nil {
		err = s.cfg.Records.Put(ctx, id, v.ID)
	}
	if err != nil {
		return "", fmt.Errorf("in-tree volume %q: %w", id, err)
	}
	s.cfg.Logger.Info("in-tree volume registered in CNS", "path", id, "volume", v.ID, "vcenter", v.VCenter)
	return v.ID, nil
}

// datastore returns the datastore of a path. A datastore that several datacenters of a vCenter mount is an object in each,
// withVolume one URL; any of these objects may be used.
func (s *Store) datastore(ctx context.Context, p Path) (volume.Datastore, error) {
	all, err := s.Datastores(ctx, p.Datastore)
	if err != nil {
		return volume.Datastore{}, err
	}
	all = slices.CompactFunc(slices.SortedStableFunc(slices.Values(all), func(a, b volume.Datastore) int {
		return cmp.Or(cmp.Compare(a.VCenter, b.VCenter), cmp.Compare(a.URL, b.URL))
	}), func(a, b volume.Datastore) bool { return a.VCenter == b.VCenter && a.URL == b.URL && a.URL != "" })
	if len(all) == 1 {
		return all[0], nil
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(d volume.Datastore) bool { return !slices.Contains(s.cfg.DatastoreURLs(), d.URL) })
	if len(chosen) == 1 {
		return chosen[0], nil
	}
	var where strings.Builder
	for _, d := range all {
		fmt.Fprintf(&where, ", datacenter %q of vcenter %q", d.Datacenter, d.VCenter)
	}
	return volume.Datastore{}, fmt.Errorf("%w: the path may mean any of %d datastores named %q%s: set migration-datastore-url to the right one, or rename the others",
		volume.ErrNoDatastore, len(all), p.Datastore, where.String())
}

// withVolume runs f with the CNS volume of an id. If the recorded volume no longer exists, it searches for the disk again, once.
func (s *Store) withVolume(ctx context.Context, id string, f func(id string) error) error {
	is, err := s.cnsID(ctx, id)
	if err != nil {
		return err
	}
	if err = f(is); !IsPath(id) || !errors.Is(err, volume.ErrNotFound) {
		return err
	}
	if err := s.cfg.Records.Delete(ctx, id); err != nil {
		return err
	}
	if is, err = s.cnsID(ctx, id); err != nil {
		return err
	}
	return f(is)
}

// Delete implements [volume.Store]. A disk that CNS does not manage is registered first, because CNS checks whether it may be
// deleted.
func (s *Store) Delete(ctx context.Context, id string) error {
	is, err := s.cnsID(ctx, id)
	if errors.Is(err, volume.ErrNotFound) && IsPath(id) {
		return nil
	}
	if err == nil {
		err = s.CNS.Delete(ctx, is)
	}
	if err != nil || !IsPath(id) {
		return err
	}
	return s.cfg.Records.Delete(ctx, id)
}

// Volume implements [volume.Store]; the volume's id is the requested one.
func (s *Store) Volume(ctx context.Context, id string) (v volume.Volume, err error) {
	err = s.withVolume(ctx, id, func(is string) (err error) {
		v, err = s.CNS.Volume(ctx, is)
		v.ID = id
		return err
	})
	return v, err
}

// Attach implements [volume.Store].
func (s *Store) Attach(ctx context.Context, id string, n volume.Node) (disk string, err error) {
	err = s.withVolume(ctx, id, func(is string) (err error) {
		disk, err = s.CNS.Attach(ctx, is, n)
		return err
	})
	return disk, err
}

// Detach implements [volume.Store].
func (s *Store) Detach(ctx context.Context, id string, n volume.Node) error {
	is, err := s.cnsID(ctx, id)
	if errors.Is(err, volume.ErrNotFound) && IsPath(id) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.CNS.Detach(ctx, is, n)
}

// Expand implements [volume.Store]; it refuses paths.
func (s *Store) Expand(ctx context.Context, id string, bytes int64) (int64, error) {
	if IsPath(id) {
		return 0, errInTree(id, "it cannot be expanded")
	}
	return s.CNS.Expand(ctx, id, bytes)
}

// Snapshot implements [volume.Store]; it refuses paths.
func (s *Store) Snapshot(ctx context.Context, id, name string) (volume.Snapshot, error) {
	if IsPath(id) {
		return volume.Snapshot{}, errInTree(id, "it cannot have snapshots")
	}
	return s.CNS.Snapshot(ctx, id, name)
}

// errInTree returns the error for operations that upstream refuses too (vanilla/controller.go, "cannot expand migrated vSphere
// volume").
func errInTree(id, what string) error {
	return fmt.Errorf("in-tree volume %q: %w: %s, because its PersistentVolume names the file of a disk, not a volume", id, volume.ErrInTree, what)
}

// Snapshots implements [volume.Store]; paths have no snapshots.
func (s *Store) Snapshots(ctx context.Context, of volume.SnapshotRef) ([]volume.Snapshot, error) {
	if IsPath(of.Volume) {
		return nil, nil
	}
	return s.CNS.Snapshots(ctx, of)
}

// Volumes implements [volume.Store]. Volumes with a path have it as id, because Kubernetes knows them by it.
func (s *Store) Volumes(ctx context.Context) ([]volume.Volume, []volume.Attached, error) {
	paths, err := s.cfg.Records.Paths(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, on, err := s.CNS.Volumes(ctx)
	if len(paths) == 0 {
		return all, on, err
	}
	for i := range all {
		if path := paths[all[i].ID]; path != "" {
			all[i].ID = path
		}
	}
	for i := range on {
		if path := paths[on[i].Volume]; path != "" {
			on[i].Volume = path
		}
	}
	slices.SortFunc(all, func(a, b volume.Volume) int { return strings.Compare(a.ID, b.ID) })
	return all, on, err
}

// Attachments implements [volume.Store].
func (s *Store) Attachments(ctx context.Context, id string) (on []volume.Attached, err error) {
	err = s.withVolume(ctx, id, func(is string) (err error) {
		on, err = s.CNS.Attachments(ctx, is)
		for i := range on {
			on[i].Volume = id
		}
		return err
	})
	return on, err
}
