package ccm

import (
	"errors"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// fromIndex returns the one image of an index that is for the platform; one without a platform counts when it is alone.
// Before a description that it names is read, check is asked whether it may be.
func (o Options) fromIndex(index v1.ImageIndex, check func(what string, d v1.Descriptor) error, depth int) (v1.Image, error) {
	if depth > 4 {
		return nil, errors.New("indexes within indexes")
	}
	m, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var others []string
	for _, d := range m.Manifests {
		if d.MediaType.IsIndex() {
			if err := check("the index", d); err != nil {
				return nil, err
			}
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			img, err := o.fromIndex(inner, check, depth+1)
			if mine := (*coded.Error)(nil); errors.As(err, &mine) && mine.Code == "ccm-wrong-platform" {
				others = append(others, mine.Message)
				continue
			}
			return img, err
		}
		if !d.MediaType.IsImage() || d.Annotations["vnd.docker.reference.type"] != "" { // an attestation
			continue
		}
		if p := d.Platform; p == nil && len(m.Manifests) == 1 || p != nil && p.OS == o.OS && p.Architecture == o.Arch {
			if err := check("the manifest", d); err != nil {
				return nil, err
			}
			img, err := index.Image(d.Digest)
			if err != nil {
				return nil, err
			}
			m, err := img.Manifest()
			if err != nil {
				return nil, err
			}
			return img, errors.Join(fits(m), check("the configuration", m.Config))
		}
		if d.Platform != nil {
			others = append(others, d.Platform.OS+"/"+d.Platform.Architecture)
		}
	}
	if len(others) == 0 {
		others = []string{"nothing"}
	}
	return nil, coded.New("ccm-wrong-platform", "", nil, "is for %s; this machine is %s/%s", strings.Join(others, ", "), o.OS, o.Arch)
}
