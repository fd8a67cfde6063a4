package images

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Loaded is the result for an image of an archive.
type Loaded struct {
	Item
	// Had is set if the runtime had it before.
	Had bool
}

// Load loads those images of the archive that a runtime does not have, and verifies them. It is idempotent. progress is
// as for [Open].
func (a *Archive) Load(ctx context.Context, to Store, progress func(done, whole int64)) ([]Loaded, error) {
	var all []Loaded
	var wanted []Item
	for _, item := range a.contents.Images {
		had, err := to.has(ctx, item)
		if err != nil {
			return nil, err
		}
		all = append(all, Loaded{item, had})
		if !had {
			wanted = append(wanted, item)
		}
	}
	if len(wanted) == 0 {
		return all, nil
	}
	if err := a.give(ctx, to, wanted, progress); err != nil {
		return nil, err
	}
	for _, item := range wanted {
		had, err := to.has(ctx, item)
		if err != nil {
			return nil, err
		}
		if !had {
			return nil, coded.New(Unlike, "", nil, "%s has loaded the archive, but its image %s differs from the archive's", to.Runtime.Name(), item.Name)
		}
	}
	return all, nil
}

// has reports whether a runtime has an image, by its layers: some runtimes change the digest of the configuration.
func (s Store) has(ctx context.Context, item Item) (bool, error) {
	is, err := s.Image(ctx, item.Name)
	switch {
	case coded.Is(err, Missing):
		return false, nil
	case err != nil:
		return false, err
	}
	return slices.Equal(is.Layers, item.Layers) && is.Platform == item.Platform, nil
}

// give loads some images.
func (a *Archive) give(ctx context.Context, to Store, wanted []Item, progress func(done, whole int64)) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := a.write(ctx, w, wanted, progress)
		w.CloseWithError(err)
		written <- err
	}()
	err := to.Load(ctx, r)
	r.CloseWithError(err) // no effect if everything was read
	if werr := <-written; werr != nil && (err == nil || ctx.Err() == nil && !errors.Is(werr, err)) {
		return werr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	return nil
}

// write writes some of the images in Docker's format.
func (a *Archive) write(ctx context.Context, w io.Writer, wanted []Item, progress func(done, whole int64)) error {
	f, err := os.Open(a.path)
	if err != nil {
		return fmt.Errorf("archive of images: %w", err)
	}
	defer f.Close()
	needed := map[string]bool{}
	var docker []manifest
	for _, item := range wanted {
		for _, path := range append([]string{item.Config}, item.Blobs...) {
			needed[path] = true
		}
		docker = append(docker, manifest{Config: item.Config, RepoTags: []string{item.Name}, Layers: item.Blobs})
	}
	var whole int64
	for _, file := range a.contents.Files {
		if needed[file.Path] {
			whole += file.Size
		}
	}
	in := &counted{whole: whole, progress: progress}
	out := tar.NewWriter(w)
	for t := tar.NewReader(f); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := t.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return coded.New(Broken, "", cut(err), "%s has changed since it was checked", a.path)
		}
		if !needed[h.Name] {
			continue
		}
		in.r = t
		if err := put(out, h.Name, h.Size, in); err != nil {
			return err
		}
	}
	text, err := json.Marshal(docker)
	if err != nil {
		return err
	}
	if err := put(out, manifestFile, int64(len(text)), bytes.NewReader(text)); err != nil {
		return err
	}
	return out.Close()
}

func put(out *tar.Writer, name string, size int64, r io.Reader) error {
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Format: tar.FormatGNU}); err != nil {
		return err
	}
	_, err := io.Copy(out, r)
	return err
}
