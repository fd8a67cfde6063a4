package migrated

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

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
