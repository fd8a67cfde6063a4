package ccm

import (
	"errors"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// fromIndex returns the one image of an index that is for the platform; one without a platform counts when it is alone.
func (o Options) fromIndex(index v1.ImageIndex, depth int) (v1.Image, error) {
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
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			img, err := o.fromIndex(inner, depth+1)
			if mine := (*Error)(nil); errors.As(err, &mine) {
				others = append(others, mine.Message)
				continue
			}
			return img, err
		}
		if !d.MediaType.IsImage() || d.Annotations["vnd.docker.reference.type"] != "" { // an attestation
			continue
		}
		if p := d.Platform; p == nil && len(m.Manifests) == 1 || p != nil && p.OS == o.OS && p.Architecture == o.Arch {
			return index.Image(d.Digest)
		}
		if d.Platform != nil {
			others = append(others, d.Platform.OS+"/"+d.Platform.Architecture)
		}
	}
	if len(others) == 0 {
		others = []string{"nothing"}
	}
	return nil, wrong("ccm-wrong-platform", nil, "is for %s; this machine is %s/%s", strings.Join(others, ", "), o.OS, o.Arch)
}
