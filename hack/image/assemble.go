package main

import (
	"context"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// made is a program's images: one for each platform, in the order of the options, and the index of them.
type made struct {
	program program
	images  []v1.Image
	index   v1.ImageIndex
}

// assemble compiles a program and puts its images together.
func assemble(ctx context.Context, o *options, p program) (*made, error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	system, err := layer(systemFiles())
	if err != nil {
		return nil, err
	}
	m := &made{program: p, index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	for _, platform := range o.platforms {
		binary := filepath.Join(dir, platform.Architecture)
		if err := compile(ctx, o, p, platform, binary); err != nil {
			return nil, err
		}
		program, err := binaryLayer(p, binary)
		if err != nil {
			return nil, err
		}
		terms, err := licenses(ctx, o, p, platform)
		if err != nil {
			return nil, err
		}
		licenses, err := layer(terms)
		if err != nil {
			return nil, err
		}
		image, err := imageOf(o.stamp, p, platform, system, licenses, program)
		if err != nil {
			return nil, err
		}
		m.images = append(m.images, image)
		m.index = mutate.AppendManifests(m.index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &platform},
		})
	}
	m.index = mutate.Annotations(m.index, o.stamp.labels(p)).(v1.ImageIndex) // it returns what it is given
	return m, nil
}

// imageOf is the image for one platform.
func imageOf(s stamp, p program, platform v1.Platform, system, licenses, program v1.Layer) (v1.Image, error) {
	created := v1.Time{Time: s.created}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(image,
		mutate.Addendum{Layer: system, History: v1.History{Created: created, CreatedBy: "hack/image: users and certificate authorities"}},
		mutate.Addendum{Layer: licenses, History: v1.History{Created: created, CreatedBy: "hack/image: licenses"}},
		mutate.Addendum{Layer: program, History: v1.History{Created: created, CreatedBy: "hack/image: " + p.name}},
	)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = platform.OS, platform.Architecture, created
	file.Config = v1.Config{
		User:       user,
		WorkingDir: "/",
		Entrypoint: []string{"/" + p.name},
		Env:        []string{"PATH=/", "SSL_CERT_FILE=/" + rootsFile},
		Labels:     s.labels(p),
	}
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, s.labels(p)).(v1.Image), nil // it returns what it is given
}
