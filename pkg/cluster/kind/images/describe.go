package images

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Described is an image of an archive in Docker's format.
type Described struct {
	// Name is the first of its names.
	Name     string
	Platform string
	Labels   map[string]string
	// Size is the archive's, in bytes.
	Size int64
}

// Describe returns the only image of a file in Docker's archive format, without reading its layers.
func Describe(ctx context.Context, file string) (Described, error) {
	d, err := describe(ctx, file)
	if err != nil {
		return Described{}, coded.New(Broken, "", cut(err), "%s is no archive of an image, or a damaged one", file)
	}
	return d, nil
}

func describe(ctx context.Context, file string) (Described, error) {
	f, err := os.Open(file)
	if err != nil {
		return Described{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Described{}, err
	}
	texts := texts{}
	for t := tar.NewReader(f); ; { // it skips layers without reading them
		if err := ctx.Err(); err != nil {
			return Described{}, err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return Described{}, err
		}
		if h.Typeflag == tar.TypeReg && h.Size <= describing {
			text, err := io.ReadAll(t)
			if err = errors.Join(err, texts.keep(path.Clean(h.Name), text)); err != nil {
				return Described{}, err
			}
		}
	}
	var list []manifest
	if err := json.Unmarshal(texts.by[manifestFile], &list); err != nil {
		return Described{}, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if len(list) != 1 || len(list[0].RepoTags) == 0 {
		return Described{}, fmt.Errorf("it has %d images, want one with a name", len(list))
	}
	var c configuration
	if err := json.Unmarshal(texts.by[path.Clean(list[0].Config)], &c); err != nil {
		return Described{}, fmt.Errorf("%s: %w", list[0].Config, err)
	}
	return Described{Name: list[0].RepoTags[0], Platform: c.OS + "/" + c.Architecture, Labels: c.Config.Labels, Size: info.Size()}, nil
}

// The files of an archive beside the images' own.
const (
	markFile     = "vsphere-sandbox-images"      // the first: what this is
	contentsFile = "vsphere-sandbox-images.json" // the last: [Contents]
	manifestFile = "manifest.json"               // Docker's, before it
)

// The head of [Contents].
const (
	apiVersion = "sandbox.vsphere/v1alpha1"
	kindName   = "ImageArchive"
)

// Contents is the table of contents of an archive.
type Contents struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// By is the release of this program that wrote it.
	By      string    `json:"by"`
	Created time.Time `json:"created"`
	Images  []Item    `json:"images"`
	// Files are all other files in the archive.
	Files []File `json:"files"`
}

// Item is an image of an archive.
type Item struct {
	// Name is the image's name, and Part its purpose: "node", "program". The caller of [Writer.Add] sets them; all other
	// fields are filled in.
	Name string `json:"name"`
	Part string `json:"part,omitempty"`
	// Kubernetes is the release of a node image, "v1.36.4". The caller sets it, too.
	Kubernetes string `json:"kubernetes,omitempty"`
	// ID is the digest of its configuration, which has those of its layers; Layers are the digests of the unpacked layers.
	ID       string   `json:"id"`
	Layers   []string `json:"layers"`
	Platform string   `json:"platform"`
	// Size is the size of its layers in the archive, in bytes.
	Size int64 `json:"size"`

	// Config and Blobs are the paths of its configuration and its layers in the archive.
	Config string   `json:"config"`
	Blobs  []string `json:"blobs"`
}

// File is a file of an archive.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// manifest is an entry of Docker's manifest.json.
type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// configuration is the part of an image's configuration that is used here.
type configuration struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	RootFS       struct {
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	Config struct {
		Labels map[string]string
	} `json:"config"`
}
