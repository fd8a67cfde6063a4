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

// extension is that of virtual disks.
const extension = ".vmdk"

// IsPath tells whether a volume id is the path of a disk, which ids of CNS never are. As upstream, it goes by the file.
func IsPath(id string) bool { return strings.HasSuffix(strings.ToLower(id), extension) }

// Path is where a disk lies.
type Path struct {
	Datastore string // its name
	File      string // there: "kubevols/a.vmdk"
}

// ParsePath reads "[datastore] folder/file.vmdk". For a datastore that was in a cluster of datastores the in-tree provider
// wrote "[cluster/datastore]", as a StorageClass may have it: the cluster says nothing of where the disk is. Error:
// volume.ErrInvalid.
func ParsePath(id string) (p Path, err error) {
	in, file, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(id), "["), "]")
	p = Path{Datastore: withoutCluster(strings.TrimSpace(in)), File: strings.TrimPrefix(strings.TrimSpace(file), "/")}
	if !ok || !strings.HasPrefix(strings.TrimSpace(id), "[") || p.Datastore == "" || !IsPath(p.File) || p.name() == "" {
		return Path{}, fmt.Errorf("volume path %q: %w: not \"[datastore] folder/file.vmdk\"", id, volume.ErrInvalid)
	}
	if clean := path.Clean(p.File); clean != p.File || strings.HasPrefix(clean, "../") {
		return Path{}, fmt.Errorf("volume path %q: %w: the file is not where it seems to be: %s", id, volume.ErrInvalid, clean)
	}
	return p, nil
}

// withoutCluster is the name of a datastore, which vSphere writes without slashes of its own.
func withoutCluster(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// String is the path as vSphere writes it.
func (p Path) String() string { return "[" + p.Datastore + "] " + p.File }

// name is what a volume of the disk is called in CNS.
func (p Path) name() string {
	base := path.Base(p.File)
	return base[:len(base)-len(extension)]
}

// DatastoreURL is where a volume of an in-tree StorageClass goes: its datastore parameter, by name or as
// "cluster/datastore"; without one, the migration-datastore-url that is configured. Empty: anywhere.
func (s *Store) DatastoreURL(ctx context.Context, name string) (string, error) {
	if name == "" {
		if urls := s.cfg.DatastoreURLs(); len(urls) == 1 {
			return urls[0], nil
		}
		return "", nil // several are for several vCenters, and topology chooses between those
	}
	d, err := s.datastore(ctx, Path{Datastore: withoutCluster(name)})
	return d.URL, err
}

// Remember writes down a new volume that Kubernetes is to know by the path of its disk, and returns the path.
func (s *Store) Remember(ctx context.Context, id string) (path string, err error) {
	v, err := s.CNS.Volume(ctx, id)
	if err != nil {
		return "", err
	}
	if v.File == "" {
		return "", fmt.Errorf("volume %s: %w: vcenter %q does not tell the file of its disk", id, volume.ErrState, v.VCenter)
	}
	return v.File, s.cfg.Records.Put(ctx, v.File, id)
}

//go:embed crd.yaml
var crd []byte

// CRD returns the CustomResourceDefinition of CnsVSphereVolumeMigration objects, as YAML. It has upstream's schema.
func CRD() []byte { return slices.Clone(crd) }

// Kind is the kind of the objects.
const Kind = "CnsVSphereVolumeMigration"

// Resource returns what the API server calls the objects.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cns.vmware.com", Version: "v1alpha1", Resource: "cnsvspherevolumemigrations"}
}
