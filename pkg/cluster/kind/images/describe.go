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

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Described is an image of an archive in Docker's format.
type Described struct {
	// Name is the first of those it goes by.
	Name     string
	Platform string
	Labels   map[string]string
	// Size is the archive's, in bytes.
	Size int64
}

// Describe tells of the only image of a file in Docker's archive format, without reading its layers.
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
	for t := tar.NewReader(f); ; { // which passes over layers without reading them
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
		return Described{}, fmt.Errorf("%d images, one with a name is wanted", len(list))
	}
	var c configuration
	if err := json.Unmarshal(texts.by[path.Clean(list[0].Config)], &c); err != nil {
		return Described{}, fmt.Errorf("%s: %w", list[0].Config, err)
	}
	return Described{Name: list[0].RepoTags[0], Platform: c.OS + "/" + c.Architecture, Labels: c.Config.Labels, Size: info.Size()}, nil
}
