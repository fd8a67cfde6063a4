package images

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// describing is how large a description of an image may be, in bytes: what is larger is a layer.
const describing = 1 << 20

// mostDescribing is how large all descriptions in an archive may be: they are in memory, and an archive may come from anywhere.
const mostDescribing = 32 << 20

// texts are the descriptions in an archive, by name. The zero value has none.
type texts struct {
	by   map[string][]byte
	size int64
}

// keep takes a small file, if it may be a description.
func (t *texts) keep(name string, text []byte) error {
	if !json.Valid(text) {
		return nil
	}
	if t.size += int64(len(text)); t.size > mostDescribing {
		return &input.TooLarge{What: "what describes the images", Max: mostDescribing}
	}
	if t.by == nil {
		t.by = map[string][]byte{}
	}
	t.by[name] = text
	return nil
}

// source is what was found in an archive of Docker's.
type source struct {
	manifests []manifest
	// files are where what was copied is now, links what goes by another file's name; texts are the small ones.
	files map[string]File
	links map[string]string
	texts texts
	// packed are those that are compressed.
	packed map[string]bool
}

// copyAll copies the files of an archive of Docker's below prefix, but for those that only say what is in it: which of them
// an image is made of is said at the archive's end.
func (a *Writer) copyAll(ctx context.Context, r io.Reader, prefix string) (*source, error) {
	in := &source{files: map[string]File{}, links: map[string]string{}, packed: map[string]bool{}}
	for t := tar.NewReader(r); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return in, nil
		} else if err != nil {
			return nil, err
		}
		name := path.Clean(h.Name)
		switch {
		case h.Typeflag == tar.TypeSymlink:
			in.links[name] = path.Join(path.Dir(name), h.Linkname)
			continue
		case h.Typeflag == tar.TypeLink:
			in.links[name] = path.Clean(h.Linkname)
			continue
		case h.Typeflag != tar.TypeReg, name == "repositories", name == "index.json", name == "oci-layout", path.Base(name) == "VERSION":
			continue
		case !localPath(name):
			return nil, fmt.Errorf("it has a file %q, which is outside", h.Name)
		}
		content := io.Reader(t)
		if h.Size <= describing {
			text, err := io.ReadAll(t)
			if err = errors.Join(err, in.texts.keep(name, text)); err != nil {
				return nil, err
			}
			content = bytes.NewReader(text)
		}
		if name == manifestFile {
			if err := json.Unmarshal(in.texts.by[name], &in.manifests); err != nil {
				return nil, fmt.Errorf("%s: %w", manifestFile, err)
			}
			continue
		}
		head := &firstBytes{r: content}
		f, err := a.copyFile(prefix+name, h.Size, head)
		if err != nil {
			return nil, err
		}
		in.files[name], in.packed[name] = f, head.compressed()
	}
}

// pick returns the image that is called name, or the only one.
func (in *source) pick(name string) (manifest, error) {
	for _, m := range in.manifests {
		if slices.ContainsFunc(m.RepoTags, func(tag string) bool { return short(tag) == short(name) }) {
			return m, nil
		}
	}
	switch len(in.manifests) {
	case 0:
		return manifest{}, errors.New("is no image: it has no " + manifestFile)
	case 1:
		return in.manifests[0], nil
	}
	return manifest{}, fmt.Errorf("is not among the %d images that are there", len(in.manifests))
}

// describe completes an item, and checks that its layers match its configuration.
func (in *source) describe(m manifest, item Item) (Item, error) {
	text, ok := in.texts.by[in.real(m.Config)]
	if !ok {
		return item, fmt.Errorf("its configuration %s is not there", m.Config)
	}
	var c configuration
	if err := json.Unmarshal(text, &c); err != nil {
		return item, fmt.Errorf("its configuration: %w", err)
	}
	if len(c.RootFS.DiffIDs) != len(m.Layers) {
		return item, fmt.Errorf("its configuration names %d layers, there are %d", len(c.RootFS.DiffIDs), len(m.Layers))
	}
	config := in.files[in.real(m.Config)]
	item.ID, item.Config = "sha256:"+config.SHA256, config.Path
	item.Layers, item.Platform = c.RootFS.DiffIDs, c.OS+"/"+c.Architecture
	for i, layer := range m.Layers {
		name := in.real(layer)
		f, ok := in.files[name]
		if !ok {
			return item, fmt.Errorf("its layer %s is not there", layer)
		}
		if !in.packed[name] && "sha256:"+f.SHA256 != c.RootFS.DiffIDs[i] {
			return item, fmt.Errorf("its layer %s is sha256:%s, and has to be %s", layer, f.SHA256, c.RootFS.DiffIDs[i])
		}
		item.Blobs = append(item.Blobs, f.Path)
		item.Size += f.Size
	}
	return item, nil
}

// real is the file that a name stands for, through links.
func (in *source) real(name string) string {
	name = path.Clean(name)
	for range len(in.links) {
		to, ok := in.links[name]
		if !ok {
			break
		}
		name = to
	}
	return name
}

// localPath reports whether a clean path stays inside the folder that it is unpacked to.
func localPath(name string) bool {
	return name != "." && name != ".." && !path.IsAbs(name) && !strings.HasPrefix(name, "../")
}

// firstBytes keeps the first bytes of what is read.
type firstBytes struct {
	r    io.Reader
	head []byte
}

// Read implements [io.Reader].
func (f *firstBytes) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if room := 4 - len(f.head); room > 0 {
		f.head = append(f.head, b[:min(room, n)]...)
	}
	return n, err
}

// compressed reports whether the data is gzip or zstd.
func (f *firstBytes) compressed() bool {
	return bytes.HasPrefix(f.head, []byte{0x1f, 0x8b}) || bytes.HasPrefix(f.head, []byte{0x28, 0xb5, 0x2f, 0xfd})
}

// cut says of a tar that ends in its middle that it does.
func cut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends in the middle")
	}
	return err
}
