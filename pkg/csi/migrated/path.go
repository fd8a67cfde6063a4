package migrated

import (
	"fmt"
	"path"
	"strings"

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
